//! Phasors of captured and recorded waves, against values that others computed.
#![expect(clippy::unwrap_used, reason = "a test ends there")]

use iec61850::comtrade::Record;
use iec61850::wire::SampledValues;
use substation::protection::{Complex, Degrees, Filter, FrequencyTracker, Rms, Sequence, Window};

use crate::support;

/// Samples of a channel of the public 9-2LE capture, in A or kV.
fn captured(channel: usize) -> Vec<f64> {
    let unit = if channel < 4 { 1e-3 } else { 1e-5 };
    let sample = |frame: &Vec<u8>| {
        let decoded = SampledValues::decode(frame).unwrap();
        f64::from(decoded.first().channels.get(channel).unwrap().value) * unit
    };
    support::capture("sv_9-2le_4800.pcap").iter().map(sample).collect()
}

/// The phasors of a wave at every sample from the first full window on.
fn phasors(samples: &[f64], filter: &Filter, rate: u32) -> Vec<Complex> {
    let mut window = Window::new(rate);
    let at = |sample: &f64| {
        window.push(*sample);
        filter.phasor(&window)
    };
    samples.iter().filter_map(at).collect()
}

#[test]
fn the_capture_has_the_phasors_that_are_published_with_it() {
    // `iec61850/tests/data/README.md`; angles to Ua are those of numpy: `tests/data/phasors.py`.
    let filter = Filter::new(4800, 60.0, 1, None);
    let all: Vec<Vec<Complex>> =
        (0..8).map(|channel| phasors(&captured(channel), &filter, 4800)).collect();
    let expected: Vec<(f64, f64)> = include_str!("data/phasors.tsv")
        .lines()
        .map(|line| {
            let (magnitude, angle) = line.split_once('\t').unwrap();
            (magnitude.parse().unwrap(), angle.parse().unwrap())
        })
        .collect();
    for channel in [0, 1, 2, 4, 5, 6] {
        let mean = |what: &dyn Fn(usize) -> f64| {
            (0..all[0].len()).map(what).sum::<f64>() / all[0].len() as f64
        };
        let magnitude = mean(&|index| all[channel][index].norm());
        let angle_deg = mean(&|index| {
            (all[channel][index] / all[4][index] / Complex::polar_deg(1.0, expected[channel].1))
                .angle_deg()
        });
        println!("channel {channel}: {magnitude:.4}, angle off by {angle_deg:.4} degrees");
        assert!((magnitude / expected[channel].0 - 1.0).abs() < 5e-4);
        assert!(angle_deg.abs() < 0.05);
    }
}

#[test]
fn the_frequency_of_the_capture_is_found_from_far_away() {
    let (rate, waves) = (4800, [captured(4), captured(5), captured(6)]);
    let mut windows = [(); 3].map(|()| Window::new(rate));
    let mut tracker = FrequencyTracker::new(rate, 50.0, 10.0);
    for sample in 0..4800 {
        for (window, wave) in windows.iter_mut().zip(&waves) {
            window.push(wave[sample]);
        }
        let filter = Filter::new(rate, tracker.frequency_hz(), 1, None);
        let back = FrequencyTracker::back_samples(&filter);
        let positive = |back| {
            let phasors = windows.each_ref().map(|window| filter.phasor_back(window, back));
            let [Some(a), Some(b), Some(c)] = phasors else { return None };
            Some(Sequence::of([a, b, c]).positive)
        };
        if sample % 20 == 0
            && let (Some(now), Some(before)) = (positive(0), positive(back))
        {
            tracker.update(now, before, back);
        }
    }
    println!("{:.4} Hz", tracker.frequency_hz());
    assert!((tracker.measured_hz().unwrap() - 60.0).abs() < 0.005);
}

#[test]
fn a_recorded_fault_recorder_agrees_with_the_relay_that_wrote_it() {
    let text = std::fs::read_to_string(support::data().join("drewsilcock_real_1999_bin.cfg"));
    let data = std::fs::read(support::data().join("drewsilcock_real_1999_bin.dat")).unwrap();
    let record = Record::parse(&text.unwrap(), &data).unwrap();
    assert_eq!((record.time_s.len(), record.digital.len()), (8000, 64));
    assert!((record.time_s[7999] - 4.995_215).abs() < 1e-9);
    // The recorder samples 32 times in a period of the frequency that it tracks.
    let filter = Filter::new(1600, 50.0, 1, None);
    for (wave, magnitude) in [("J1 -IA", "J1 Ia"), ("J1 -IB", "J1 Ib"), ("J1 -IC", "J1 Ic")] {
        let ratio = record.configuration.analog[0].ratio;
        let ours = phasors(record.channel(wave).unwrap(), &filter, 1600);
        let theirs = record.channel(magnitude).unwrap();
        let theirs = &theirs[theirs.len() - ours.len()..];
        let errors: Vec<f64> = ours
            .iter()
            .zip(theirs)
            .map(|(ours, theirs)| ours.norm() * ratio / theirs - 1.0)
            .collect();
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        let mut sorted: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
        sorted.sort_by(f64::total_cmp);
        let (median, p99) = (sorted[sorted.len() / 2], sorted[sorted.len() * 99 / 100]);
        println!("{magnitude}: mean {mean:.5}, median {median:.5}, 99 % {p99:.5}");
        assert!(mean.abs() < 0.005 && median < 0.005);
    }
}

/// The largest error of magnitude of three tracked phasors, after `settle` samples.
fn tracked_error(rate: u32, frequency_hz: f64) -> f64 {
    let mut windows = [(); 3].map(|()| Window::new(rate));
    let mut tracker = FrequencyTracker::new(rate, 50.0, 1.0);
    let mut filter = Filter::new(rate, 50.0, 1, None);
    let mut worst = 0.0f64;
    for sample in 0..rate / 2 {
        let angle = 2.0 * std::f64::consts::PI * frequency_hz * f64::from(sample) / f64::from(rate);
        for (phase, window) in windows.iter_mut().enumerate() {
            let angle = angle - 2.0 * std::f64::consts::PI / 3.0 * phase as f64;
            // Rounded as 9-2LE rounds, with a fifth harmonic of 3 %.
            let wave = 100.0 * angle.cos() + 3.0 * (5.0 * angle).cos();
            window.push((wave * std::f64::consts::SQRT_2 * 1000.0).round() / 1000.0);
        }
        let back = FrequencyTracker::back_samples(&filter);
        let phasors = |back| {
            let [a, b, c] = windows.each_ref().map(|window| filter.phasor_back(window, back));
            Some([a?, b?, c?])
        };
        if sample % 20 != 0 {
            continue;
        }
        let (Some(now), Some(before)) = (phasors(0), phasors(back)) else { continue };
        if sample > rate / 4 {
            let turned = Complex::from_polar(1.0, angle);
            for (phase, phasor) in now.iter().enumerate() {
                let expected = (turned * 100.0).turned_deg(-120.0 * phase as f64);
                worst = worst.max((*phasor - expected).norm() / 100.0);
            }
        }
        tracker.update(Sequence::of(now).positive, Sequence::of(before).positive, back);
        filter = Filter::new(rate, tracker.frequency_hz(), 1, None);
    }
    worst
}

#[test]
fn phasors_stay_right_from_45_to_65_hz() {
    for rate in [4000, 4800, 14_400] {
        for tenths in (450..=650).step_by(10) {
            let error = tracked_error(rate, f64::from(tenths) / 10.0);
            assert!(error < 2e-3, "{error} at {tenths} tenths of a hertz, {rate} samples a second");
        }
    }
}

#[test]
fn root_mean_square_is_that_of_the_capture() {
    let mut window = Window::new(4800);
    captured(4).iter().for_each(|sample| window.push(*sample));
    let rms = Rms::new(4800, 60.0).value(&window).unwrap();
    assert!((rms / 133.296 - 1.0).abs() < 1e-3, "{rms}");
}

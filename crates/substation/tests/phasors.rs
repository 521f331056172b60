//! Phasors of captured and recorded waves, against values that others computed.
#![expect(clippy::unwrap_used, reason = "a test ends there")]

use iec61850::comtrade::Record;
use iec61850::wire::SampledValues;
use protection::recent::Transformers;
use protection::{
    Complex, Degrees, Filter, FrequencyTracker, Measuring, Offset, Rms, Sequence, Window, plausible,
};

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
    let filter = Filter::new(4800, 60.0, 1, Offset::Kept);
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

/// The phasor at the end of samples.
fn phasor(filter: &Filter, samples: &[f64]) -> Complex {
    let mut window = Window::new(4800);
    samples[samples.len() - filter.samples()..].iter().for_each(|sample| window.push(*sample));
    filter.phasor(&window).unwrap()
}

#[test]
fn the_frequency_of_the_capture_is_found_from_far_away() {
    let (rate, waves) = (4800, [captured(4), captured(5), captured(6)]);
    let mut tracker = FrequencyTracker::new(rate, 50.0, 10.0);
    for end in (260..4800).step_by(20) {
        let filter = Filter::new(rate, tracker.frequency_hz(), 1, Offset::Kept);
        let back = filter.period_samples().round() as usize;
        let at =
            |end: usize| Sequence::of(waves.each_ref().map(|wave| phasor(&filter, &wave[..end])));
        tracker.update(at(end).positive, at(end - back).positive, back);
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
    let filter = Filter::new(1600, 50.0, 1, Offset::Kept);
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

/// The largest error of magnitude of three measured phasors, once the frequency was found.
fn tracked_error(rate: u32, frequency_hz: f64) -> f64 {
    let mut measuring = Measuring::new((rate, 50.0), Transformers::Capacitive, (1.0, 1.0));
    let mut worst = 0.0f64;
    for number in 0..rate {
        let angle_at =
            |number: f64| 2.0 * std::f64::consts::PI * frequency_hz * number / f64::from(rate);
        let channels: [f64; 8] = std::array::from_fn(|channel| {
            let angle =
                angle_at(number.into()) - 2.0 * std::f64::consts::PI / 3.0 * (channel % 4) as f64;
            // Rounded as 9-2LE rounds, with a fifth harmonic of 3 %.
            let wave = 100.0 * angle.cos() + 3.0 * (5.0 * angle).cos();
            (wave * std::f64::consts::SQRT_2 * 1000.0).round() / 1000.0
        });
        measuring.push(&channels);
        if number % 20 != 0 {
            continue;
        }
        let Some(measured) = measuring.measure() else { continue };
        if number > rate / 2 {
            let newest = f64::from(number) - plausible::DELAY_SAMPLES as f64;
            let turned = Complex::from_polar(1.0, angle_at(newest));
            for (phase, phasor) in measured.bay.voltages.iter().enumerate() {
                let expected = (turned * 100.0).turned_deg(-120.0 * phase as f64);
                worst = worst.max((*phasor - expected).norm() / 100.0);
            }
            for current in measured.bay.currents {
                worst = worst.max((current.norm() / 100.0 - 1.0).abs());
            }
        }
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
fn a_dead_line_that_rings_below_all_frequencies_is_still_seen_to_be_switched_on() {
    const RATE: u32 = 4000;
    let mut measuring = Measuring::new((RATE, 50.0), Transformers::Inductive, (1.0, 1.0));
    let (ringing_ms, switched_ms) = (1000..4000, 4000);
    let mut ages = Vec::new();
    for number in 0..5 * RATE {
        let ms = number * 1000 / RATE;
        let (volts, frequency_hz) =
            if ringing_ms.contains(&ms) { (40.0, 31.0) } else { (100.0, 50.0) };
        let turns = frequency_hz * f64::from(number) / f64::from(RATE);
        let amperes = if ringing_ms.contains(&ms) { 0.0 } else { 500.0 };
        measuring.push(&std::array::from_fn(|channel| {
            let angle_deg = 360.0 * turns.fract() - 120.0 * (channel % 4) as f64;
            angle_deg.to_radians().cos() * if channel < 4 { amperes } else { volts }
        }));
        if number % 4 == 0
            && let Some(measured) = measuring.measure()
        {
            ages.extend(measured.recent.map(|recent| (ms, recent.age)));
        }
    }
    let first = ages.iter().find(|(ms, _)| *ms >= switched_ms + 15);
    let age = first.expect("there are phasors by then").1;
    assert!(age < 1.5, "samples of before are mixed in: {age} periods");
}

#[test]
fn another_frequency_is_found_while_it_is_sought() {
    const RATE: u32 = 4000;
    for (frequency_hz, gap_ms) in (43..=62).flat_map(|hz| [(hz, 0), (hz, 500)]) {
        let mut measuring = Measuring::new((RATE, 50.0), Transformers::Inductive, (1.0, 1.0));
        let mut found = None;
        for number in 0..3 * RATE {
            let ms = number * 1000 / RATE;
            let is_gone = (1000..1000 + gap_ms).contains(&ms);
            let hertz = if ms < 1000 { 50.0 } else { f64::from(frequency_hz) };
            let volts = if is_gone { 0.0 } else { 100.0 };
            let turns = hertz * f64::from(number) / f64::from(RATE);
            measuring.push(&std::array::from_fn(|channel| {
                let angle_deg = 360.0 * turns.fract() - 120.0 * (channel % 4) as f64;
                angle_deg.to_radians().cos() * volts
            }));
            if number % 4 == 0 && ms >= 1000 + gap_ms {
                let measured = measuring.measure().and_then(|measured| measured.frequency_hz);
                let is_right =
                    measured.is_some_and(|hz| (hz - f64::from(frequency_hz)).abs() < 0.02);
                found = if is_right { found.or(Some(ms)) } else { None };
            } else if number % 4 == 0 {
                measuring.measure();
            }
        }
        let took = found.map(|ms| ms - 1000 - gap_ms);
        assert!(took.is_some_and(|ms| ms < 450), "{frequency_hz} Hz after {gap_ms} ms: {took:?}");
    }
}

#[test]
fn root_mean_square_is_that_of_the_capture() {
    let mut window = Window::new(4800);
    captured(4).iter().for_each(|sample| window.push(*sample));
    let rms = Rms::new(4800, 60.0).value(&window).unwrap();
    assert!((rms / 133.296 - 1.0).abs() < 1e-3, "{rms}");
}

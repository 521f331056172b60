#!/usr/bin/env python3
"""Magnitude and angle of each channel of the 9-2LE capture, by numpy and nothing of this project.

One line for each channel, magnitude (A or kV, root mean square) and angle to Ua in degrees apart by
a tab: means over all full-cycle transforms of the capture.

Usage: python3 phasors.py > phasors.tsv     in this folder; needs numpy
"""

import struct
from pathlib import Path

import numpy as np

CAPTURE = Path(__file__).resolve().parents[3] / "iec61850/tests/data/sv_9-2le_4800.pcap"
SAMPLES_OF_A_CYCLE = 80

octets = CAPTURE.read_bytes()
samples, at = [], 24
while at + 16 <= len(octets):
    (length,) = struct.unpack_from("<I", octets, at + 8)
    samples.append(struct.unpack(">16i", octets[at + 16 : at + 16 + length][-64:])[::2])
    at += 16 + length
waves = np.array(samples) * np.array([1e-3] * 4 + [1e-5] * 4)
turn = np.exp(-2j * np.pi * np.arange(len(waves)) / SAMPLES_OF_A_CYCLE)
kernel = np.full(SAMPLES_OF_A_CYCLE, np.sqrt(2) / SAMPLES_OF_A_CYCLE)
phasors = [np.convolve(wave * turn, kernel, "valid") for wave in waves.T]
for phasor in phasors:
    angle = np.degrees(np.angle((phasor / phasors[4]).mean()))
    print(f"{np.abs(phasor).mean():.6f}\t{angle:.6f}")

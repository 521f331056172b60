#!/usr/bin/env bash
# What tshark makes of the captures, one line for each frame, fields apart by tabs: run in this
# folder, it writes goose.tsv and sampled_values.tsv. `tests/captures.rs` compares them with what
# the decoders say, and with what the tshark of the machine says, if there is one.
set -euo pipefail

goose() {
    tshark -r "$1" -T fields -E aggregator=, -e eth.dst -e eth.src -e vlan.priority -e vlan.id \
        -e goose.appid -e goose.length -e goose.gocbRef -e goose.timeAllowedtoLive \
        -e goose.datSet -e goose.goID -e goose.t -e goose.stNum -e goose.sqNum \
        -e goose.simulation -e goose.confRev -e goose.ndsCom -e goose.numDatSetEntries \
        -e goose.allData -e goose.Data -e goose.boolean -e ber.bitstring.padding \
        -e goose.bit_string -e goose.integer -e goose.unsigned
}

sampled_values() {
    tshark -r "$1" -c 200 -o sv.decode_data_as_phsmeas:TRUE -T fields -E aggregator=, \
        -e eth.dst -e eth.src -e vlan.priority -e vlan.id -e sv.appid -e sv.length -e sv.noASDU \
        -e sv.svID -e sv.smpCnt -e sv.confRev -e sv.smpSynch -e sv.meas_value \
        -e sv.meas_quality
}

if [ $# = 2 ]; then
    "$1" "$2"
else
    { goose iti_GOOSE.pcap; goose iti_Sample_File_GOOSE.pcap; } > goose.tsv
    sampled_values sv_9-2le_4800.pcap > sampled_values.tsv
fi

"""Reads a record by a reader of others, and prints what is in it: recorder.rs compares."""

import json
import sys

import comtrade

record = comtrade.load(sys.argv[1], sys.argv[2])
print(
    json.dumps(
        {
            "revision": record.rev_year,
            "station": record.station_name,
            "samples": record.total_samples,
            "rates": record.cfg.sample_rates,
            "before_s": record.trigger_timestamp.timestamp() - record.start_timestamp.timestamp(),
            "analog": dict(zip(record.analog_channel_ids, map(list, record.analog))),
            "digital": dict(zip(record.status_channel_ids, map(list, record.status))),
            "units": [channel.uu for channel in record.cfg.analog_channels],
            "sides": [channel.pors for channel in record.cfg.analog_channels],
        }
    )
)

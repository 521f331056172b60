#!/usr/bin/env python3
"""Operating times of inverse curves by the relay model of pandapower, an independent program.

One line for each curve and multiple of the pick-up current: name, multiple and seconds, apart by
tabs, for a time multiplier of 0.5. Needs pandapower (curves.tsv was made with 3.5.6).

Usage: python3 curves.py > curves.tsv
"""

import pandas as pd
from pandapower.protection.example_grids import three_radial_bus_net
from pandapower.protection.protection_devices.ocrelay import OCRelay

NAMES = {
    "standard_inverse": "iec-normal-inverse",
    "very_inverse": "iec-very-inverse",
    "extremely_inverse": "iec-extremely-inverse",
    "long_inverse": "iec-long-time-inverse",
}
PICK_UP_KA = 0.1

for theirs, ours in NAMES.items():
    net = three_radial_bus_net()
    # A multiplier of 0.5 for all relays, and nothing added for those behind one another.
    settings = pd.DataFrame({"switch_id": net.switch.index, "tms": 0.5, "t_grade": 0.0})
    relay = OCRelay(
        net,
        switch_index=0,
        oc_relay_type="IDMT",
        time_settings=settings,
        curve_type=theirs,
        pickup_current_manual=pd.DataFrame({"I_s": [PICK_UP_KA] * len(net.switch)}),
    )
    for multiple in (1.2, 2, 5, 10, 20):
        net.res_switch_sc = pd.DataFrame({"ikss_ka": {0: multiple * PICK_UP_KA}})
        seconds = relay.protection_function(net, scenario="sc")["trip_melt_time_s"]
        print(f"{ours}\t{multiple}\t{seconds:.6f}")

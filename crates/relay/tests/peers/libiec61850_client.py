"""Browses a relay with the client of libiec61850, reads, tries to write, and takes reports.

Usage: libiec61850_client.py PORT DATA_SET WANTED
Prints a line of JSON with all that was browsed and read when reports are enabled, and another one with
the reports when one has come for each of WANTED, members of the data set separated by commas.
"""

import json
import os
import sys
import threading
from typing import Any

import pyiec61850.pyiec61850 as lib
from pyiec61850.mms import MMSClient
from pyiec61850.mms.exceptions import MMSError
from pyiec61850.mms.utils import LinkedListGuard, mms_value_to_python

# Only so that a hang is found.
LONGEST_S = 120

port, data_set, wanted = int(sys.argv[1]), sys.argv[2], set(sys.argv[3].split(","))
client = MMSClient()
members: list[str] = []
reports: list[dict[str, Any]] = []
is_enough = threading.Event()


class Handler(lib.RCBHandler):  # type: ignore[misc]
    """Keeps what is reported."""

    def trigger(self) -> None:
        """Called for each report, in a thread of the library."""
        report = self._client_report
        values = lib.ClientReport_getDataSetValues(report)
        entries = {}
        for number, member in enumerate(members):
            reason = lib.ClientReport_getReasonForInclusion(report, number)
            if reason != lib.IEC61850_REASON_NOT_INCLUDED:
                value = mms_value_to_python(lib.MmsValue_getElement(values, number))
                entries[member] = {"reason": reason, "value": list(value.values())}
        reports.append({"sequence": lib.ClientReport_getSeqNum(report), "entries": entries})
        changed = {
            member
            for each in reports
            for member, entry in each["entries"].items()
            if entry["reason"] == lib.IEC61850_REASON_DATA_CHANGE
        }
        if wanted <= changed:
            is_enough.set()


def connect() -> str:
    """Connects; returns the name of the device. Where an answer comes before the thread of the library
    that asked has gone on, the connection stays what it calls lost, without a word on the wire: then
    another one is made."""
    for _ in range(100):
        client.connect("127.0.0.1", port)
        try:
            (device,) = client.get_logical_devices()
        except MMSError:
            client.disconnect()
        else:
            return str(device)
    raise SystemExit("no device")


def browsed(device: str) -> dict[str, Any]:
    """All names, and values of each functional constraint."""
    nodes = client.get_logical_nodes(device)
    objects = {
        node: {name: client.get_data_attributes(device, node, name) for name in client.get_data_objects(device, node)}
        for node in nodes
    }
    paths = {
        "Mod": ("LLN0.Mod.stVal", "ST"),
        "ctlModel": ("LLN0.Mod.ctlModel", "CF"),
        "swRev": ("LLN0.NamPlt.swRev", "DC"),
        "pickUp": ("IHPTOC1.StrVal.setMag.f", "SP"),
        "current": ("s01MMXU1.A.phsA.cVal.mag.f", "MX"),
        "currentQuality": ("s01MMXU1.A.phsA.q", "MX"),
        "operated": ("IHPTOC1.Op", "ST"),
        "enabled": ("LLN0.urcbStatus01.RptEna", "RP"),
    }
    values = {name: client.read_value(f"{device}/{path}", fc) for name, (path, fc) in paths.items()}
    kinds = [child.name for child in client.get_variable_spec(f"{device}/IHPTOC1.Op", "ST").children]
    refused = []
    for path, fc, value in [("LLN0.Mod.stVal", "ST", 5), ("IHPTOC1.StrVal.setMag.f", "SP", 1.0), ("LLN0.Nothing", "ST", 5)]:
        try:
            client.write_value(f"{device}/{path}", value, fc)
        except MMSError as error:
            refused.append(str(error))
    identity = client.get_server_identity()
    return {
        "identity": [identity.vendor, identity.model],
        "device": device,
        "objects": objects,
        "values": values,
        "components": kinds,
        "refused": refused,
    }


def enable(device: str) -> tuple[Handler, Any]:
    """Takes the data set's first control block, with changes and integrity reports."""
    connection = client._connection
    directory, _ = lib.IedConnection_getDataSetDirectory(connection, f"{device}/LLN0.{data_set}", None)
    with LinkedListGuard(directory) as guard:
        members.extend(guard)
    reference = f"{device}/LLN0.RP.urcb{data_set}01"
    block = lib.ClientReportControlBlock_create(reference)
    _, error = lib.IedConnection_getRCBValues(connection, reference, block)
    assert error == 0, error
    lib.ClientReportControlBlock_setTrgOps(
        block, lib.TRG_OPT_DATA_CHANGED | lib.TRG_OPT_QUALITY_CHANGED | lib.TRG_OPT_INTEGRITY | lib.TRG_OPT_GI
    )
    lib.ClientReportControlBlock_setIntgPd(block, 500)
    what = lib.RCB_ELEMENT_TRG_OPS | lib.RCB_ELEMENT_INTG_PD
    handler = Handler()
    subscriber = lib.RCBSubscriber()
    subscriber.setIedConnection(connection)
    subscriber.setRcbReference(reference)
    subscriber.setRcbRptId(lib.ClientReportControlBlock_getRptId(block))
    subscriber.setEventHandler(handler)
    assert subscriber.subscribe()
    _, error = lib.IedConnection_setRCBValues(connection, block, what, True)
    assert error == 0, error
    lib.ClientReportControlBlock_setRptEna(block, True)
    _, error = lib.IedConnection_setRCBValues(connection, block, lib.RCB_ELEMENT_RPT_ENA, True)
    assert error == 0, error
    lib.ClientReportControlBlock_setGI(block, True)
    _, error = lib.IedConnection_setRCBValues(connection, block, lib.RCB_ELEMENT_GI, True)
    assert error == 0, error
    return handler, subscriber


def main() -> None:
    """Browses, subscribes, waits, prints."""
    found = browsed(connect())
    # The library calls the handler as long as it is referred to.
    _handler_and_subscriber = enable(found["device"])
    print(json.dumps({**found, "members": members}), flush=True)
    is_enough.wait(LONGEST_S)
    values = client.read_dataset(f"{found['device']}/LLN0.{data_set}")
    print(json.dumps({"reports": reports, "read": [list(value.values()) for value in values]}), flush=True)
    _, error = lib.IedConnection_release(client._connection)
    assert error == 0, error
    # Not by its end: handlers of the library must not outlive the connection, nor the other way round.
    os._exit(0)


main()

"""After five seconds fetches a page, and says how long that took and how many octets it has.

usage: fetch.py ADDRESS
"""

import json
import sys
import time
import urllib.request

time.sleep(5)
begin = time.monotonic_ns()
with urllib.request.urlopen(f"http://{sys.argv[1]}/", timeout=60) as answer:
    page = answer.read()
print(json.dumps({"answer_ms": (time.monotonic_ns() - begin) / 1e6, "octets": len(page)}))

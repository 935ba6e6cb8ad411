# Reads HDR histograms with the Python port of HdrHistogram. A file that begins with "#" is a log, each other is one encoded
# histogram. Prints a JSON list: {"count", "percentiles": {p: value}, "buckets": [[lowest, highest, count]]}, in nanoseconds.
import json
import sys

from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

percentiles = [50, 90, 99, 99.9]


def told(h):
    buckets = []
    for item in h.get_recorded_iterator():
        highest = item.value_iterated_to
        buckets.append([h.get_lowest_equivalent_value(highest), highest, item.count_added_in_this_iter_step])
    return {
        "count": h.get_total_count(),
        "percentiles": {str(p): h.get_value_at_percentile(p) for p in percentiles},
        "buckets": buckets,
    }


found = []
for name in sys.argv[1:]:
    with open(name, encoding="ascii") as file:
        text = file.read()
    if not text.startswith("#"):
        found.append(told(HdrHistogram.decode(text.strip())))
        continue
    whole = HdrHistogram(1, 100_000_000_000, 3)
    reader = HistogramLogReader(name, whole)
    intervals = 0
    while (interval := reader.get_next_interval_histogram()) is not None:
        if interval.get_tag() is None:
            whole.add(interval)
            intervals += 1
    found.append({**told(whole), "intervals": intervals})
json.dump(found, sys.stdout)

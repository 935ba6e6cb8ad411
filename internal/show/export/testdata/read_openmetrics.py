# Prints the families of an OpenMetrics text as prometheus_client's strict parser reads them, as JSON.
import json
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families

with open(sys.argv[1], encoding="utf-8", newline="") as file:
    text = file.read()
families = []
for family in text_string_to_metric_families(text):
    samples = [{"name": s.name, "labels": s.labels, "value": s.value} for s in family.samples]
    families.append({"name": family.name, "type": family.type, "unit": family.unit, "help": family.documentation, "samples": samples})
json.dump(families, sys.stdout)

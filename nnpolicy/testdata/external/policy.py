"""A policy for --policy 'cmd:python3 policy.py TABLE': it does what a decision table says."""
import json
import sys

with open(sys.argv[1]) as file:
    table = json.load(file)
names = table["inputs"]
labels = {tuple(row[:-1]): row[-1] for row in table["rows"]}

json.loads(sys.stdin.readline())  # what there is to decide; the table knows
print(json.dumps({"schema": "fuzzsafe.policy/1", "name": "table", "inputs": names}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    actions = [labels.get(tuple(state[name] for name in names)) for state in request["states"]]
    print(json.dumps({"id": request["id"], "actions": actions}), flush=True)

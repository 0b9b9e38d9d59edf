// A policy for --policy 'cmd:node policy.js TABLE': it prefers what a decision table says.
const table = JSON.parse(require("fs").readFileSync(process.argv[2], "utf8"));
const labels = new Map(table.rows.map(row => [JSON.stringify(row.slice(0, -1)), row.at(-1)]));
const say = message => console.log(JSON.stringify(message));

let outputs;
require("readline").createInterface({ input: process.stdin }).on("line", line => {
  const request = JSON.parse(line);
  if (!outputs) { // the first line
    outputs = request.outputs;
    return say({ schema: "fuzzsafe.policy/1", inputs: table.inputs });
  }
  const values = request.states.map(state => {
    const label = labels.get(JSON.stringify(table.inputs.map(name => state[name])));
    return outputs.map(output => output === label ? 1 : null);
  });
  say({ id: request.id, values });
});

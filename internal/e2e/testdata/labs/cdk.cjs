#!/usr/bin/env node
// A stand-in of cdk and of aws for one stack, by the name under which it is started. Apps are synthesized and listed by
// the real cdk ($REAL_CDK). The rest is imitated: CloudFormation is the folder $CLOUD, with the template of the stack.
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const args = process.argv.slice(2);
const deployed = path.join(process.env.CLOUD, 'stack.json');
const read = (file) => JSON.parse(fs.readFileSync(file, 'utf8'));
const flag = (name) => args[args.indexOf(name) + 1];
const there = () => (fs.existsSync(deployed) ? read(deployed).Resources : {});

function cdk() {
  switch (args[0]) {
    case 'diff': {
      const before = there();
      for (const [id, { Type }] of Object.entries(read(path.join(flag('--app'), 'Lab.template.json')).Resources)) {
        if (!before[id]) console.error(`[+] ${Type} ${id} ${id}`);
      }
      return;
    }
    case 'deploy': {
      const app = flag('--app');
      fs.copyFileSync(path.join(app, 'Lab.template.json'), deployed);
      const name = read(path.join(app, 'manifest.json')).artifacts.Lab.properties.stackName;
      const outputs = Object.entries(read(deployed).Outputs).map(([id, { Value }]) => [id, JSON.stringify(Value)]);
      fs.writeFileSync(flag('--outputs-file'), JSON.stringify({ [name]: Object.fromEntries(outputs) }));
      fs.writeFileSync(path.join(process.env.CLOUD, 'arguments'), args.join('\n'));
      return;
    }
    case 'destroy':
      fs.rmSync(deployed, { force: true });
      return;
    default:
      process.exit(spawnSync(process.env.REAL_CDK, args, { stdio: 'inherit' }).status);
  }
}

function aws() {
  const resources = Object.entries(there());
  if (args[0] !== 'cloudformation') {
    console.error('only CloudFormation is imitated');
    process.exit(1);
  }
  if (resources.length === 0) {
    console.error('An error occurred (ValidationError): Stack with id x does not exist');
    process.exit(254);
  }
  console.log(JSON.stringify(args[1] === 'describe-stacks' ? { Stacks: [{ StackStatus: 'CREATE_COMPLETE' }] } : {
    StackResourceSummaries: resources.map(([id, { Type }]) => ({ LogicalResourceId: id, ResourceType: Type })),
  }));
}

path.basename(process.argv[1]) === 'aws' ? aws() : cdk();

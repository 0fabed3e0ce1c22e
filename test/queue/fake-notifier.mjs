// Stands for a notifier: notes what it was asked, and runs the task in the background.
import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';

const args = process.argv.slice(2);
if (process.env.NOTED) appendFileSync(process.env.NOTED, `${JSON.stringify(args)}\n`);
if (process.env.NOTIFIER_EXIT) process.exitCode = Number(process.env.NOTIFIER_EXIT);
else {
  const command = args[args.indexOf('--command') + 1];
  spawn(command, { shell: true, detached: true, stdio: 'ignore' }).unref();
}

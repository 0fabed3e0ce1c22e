// Measures how long commands take beside bare Node, in turns: `node scripts/start-up.mjs [rounds] [path of Node]`.
// Prints the median of each and its ratio, once as it is, and once without NODE_EXTRA_CA_CERTS: Node 20 reads those
// certificates whenever it starts, and bare Node then takes three times as long.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const [rounds = '21', node = process.execPath] = process.argv.slice(2);
const quipu = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));

const APPEND = ['context', 'append', '1', '--type', 'note', '--text', 'hi'];
const COMMANDS = [
  ['--version'],
  ['--help'],
  ['context', 'list'],
  ['context', 'show', '1'],
  ['context', 'last', '1'],
  ['log', '1'],
  ['chat', 'list'],
  ['queue', 'list'],
  ['stats'],
  APPEND,
];

function run(args, { cwd, env }) {
  const begin = performance.now();
  const { status, stderr } = spawnSync(node, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  if (status !== 0) throw new Error(`${args.join(' ')}: ${String(stderr)}`);
  return performance.now() - begin;
}

function median(times) {
  return times.toSorted((a, b) => a - b)[times.length >> 1];
}

function measure(env) {
  const cwd = mkdtempSync(join(tmpdir(), 'quipu-start-up-'));
  const place = { cwd, env: { ...env, XDG_CACHE_HOME: cwd } };
  const lines = [['-e', '0'], ...COMMANDS.map((words) => [quipu, ...words])];
  try {
    run([quipu, 'context', 'create', '--title', 'a'], place);
    run([quipu, ...APPEND], place);
    // The first round fills the caches.
    const all = Array.from({ length: Number(rounds) + 1 }, () =>
      lines.map((args) => run(args, place)),
    );
    const [bare, ...medians] = lines.map((_, at) => median(all.slice(1).map((row) => row[at])));
    console.log(`bare node ${bare.toFixed(1)} ms`);
    for (const [at, time] of medians.entries()) {
      const name = COMMANDS[at].join(' ');
      console.log(
        `${name.padEnd(44)} ${time.toFixed(1).padStart(6)} ms  ${(time / bare).toFixed(2)}x`,
      );
    }
  } finally {
    rmSync(cwd, { recursive: true });
  }
}

const { NODE_EXTRA_CA_CERTS: certificates, ...env } = process.env;
if (certificates !== undefined) {
  console.log('with NODE_EXTRA_CA_CERTS');
  measure(process.env);
  console.log('without');
}
measure(env);

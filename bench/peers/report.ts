import { figure, ratios } from '../bench.ts';
import type { Rounds } from '../bench.ts';
import type { DriverName } from '../drivers/driver.ts';
import { median } from '../figures.ts';
import type { Machine } from '../report/machine.ts';
import { ms } from '../rows/finding.ts';
import type { Peer } from './peers.ts';

const BEGIN = '<!-- peers: `npm run bench:peers` writes this table -->';
const END = '<!-- /peers -->';

/** Ratios nearer to 1 than this are noise. */
const SAME = 1.05;
/** The share of the rounds that must have the same store in front. */
const AGREEING = 0.8;

interface Column {
  readonly title: string;
  readonly name: string;
  readonly show: (value: number) => string;
  /** What to say of less and of more than Quipu has; undefined: compared by nobody. */
  readonly words?: readonly [less: string, more: string];
}

const COLUMNS: readonly Column[] = [
  { title: 'append a turn', name: 'appendMs', show: ms, words: ['faster', 'slower'] },
  { title: 'fork, with its first turn', name: 'forkMs', show: ms, words: ['faster', 'slower'] },
  { title: 'read the last 64 turns', name: 'readMs', show: ms, words: ['faster', 'slower'] },
  { title: 'disk of a conversation', name: 'diskBytes', show: size, words: ['less', 'more'] },
  { title: 'disk of a store with one turn', name: 'bareBytes', show: size },
];

/** The figures side by side. Throws when one is missing. */
export function toPeersTable(peers: readonly Peer[], rounds: Rounds): string {
  const head = ['store', ...COLUMNS.map(({ title }) => title), 'an append survives a power cut'];
  const body = peers.map((peer) => [
    peer.title,
    ...COLUMNS.map((column) => cell(peer, column, rounds)),
    peer.survives ? 'yes' : '**no**',
  ]);
  return [head, head.map(() => '---'), ...body]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}

function cell({ driver, against, copies }: Peer, column: Column, rounds: Rounds): string {
  const value = mustFind(figure(rounds, driver, column.name), driver, column);
  const told = column.show(value) + (copies === true && column.name === 'forkMs' ? ', copies' : '');
  if (against === undefined || column.words === undefined) return told;
  return `${told} (${compare(ratios(rounds, [driver, against], column.name), column.words)})`;
}

function mustFind(value: number, driver: DriverName, { name }: Column): number {
  if (Number.isFinite(value) && value > 0) return value;
  throw new Error(`there is no figure ${name} of ${driver}`);
}

/** Who is better, if the rounds agree about it. */
function compare(shares: readonly number[], [less, more]: readonly [string, string]): string {
  const share = median(shares);
  if (share < SAME && share > 1 / SAME) return 'same';
  const agreeing = shares.filter((each) => each < 1 === share < 1).length;
  if (agreeing < AGREEING * shares.length) return 'unclear';
  const factor = Math.max(share, 1 / share);
  return `${factor.toFixed(factor < 10 ? 1 : 0)}x ${share < 1 ? less : more}`;
}

function size(bytes: number): string {
  return bytes < 1e5 ? `${Math.ceil(bytes / 1e3)} KB` : `${(bytes / 1e6).toFixed(2)} MB`;
}

/** Puts the table between the two marks of a document. */
export function fillIn(document: string, table: string): string {
  const begin = document.indexOf(BEGIN);
  const end = document.indexOf(END, begin);
  if (begin === -1 || end === -1) throw new Error(`the document has no "${BEGIN}" and "${END}"`);
  return `${document.slice(0, begin + BEGIN.length)}\n\n${table}\n\n${document.slice(end)}`;
}

/** The whole of PEERS.md. */
export function toPeersDocument(
  peers: readonly Peer[],
  rounds: Rounds,
  about: { machine: Machine; versions: readonly string[]; turns: number; payloadBytes: number },
): string {
  const { date, node, cpu, system, disk, load } = about.machine;
  const count = rounds.values().next().value?.length ?? 0;
  return `# Quipu and its peers

Written by \`npm run bench:peers\` on ${date}. Node ${node}; ${cpu}; ${system}; ${disk}; ${load}.

${toPeersTable(peers, rounds)}

In brackets: the peer against the Quipu row above it. Times are p50.

## What was done

- An agent has a conversation of ${about.turns} turns, each of ${about.payloadBytes} bytes of JSON, and waits for each append. Ten times
  it forks the conversation in its middle, and each fork goes on for five turns. Then it reads the last 64 turns,
  ${about.turns / 8} times. Each store has a first conversation to warm up; the times are those of a second one.
- A fork is timed with its first turn, because for LangGraph the first turn is the fork.
- All values are read parsed. The bytes of the last 64 turns and of each fork are compared with what was appended.
- The disk of a conversation is half of what two of them take, after the store was closed. It is without what the store
  took after its very first turn, which has a column of its own. In a database the log of the server is not counted.
- All stores take turns in ${count} rounds, each time in a fresh process and folder. A figure is the median over the rounds. A
  factor is the median of the factors within each round. Less than 5 % is "same", and "unclear" says that another store
  was in front in more than a fifth of the rounds. Factors travel between machines, times do not.
- LangGraph's savers get the whole list of messages with each turn, as a graph gives it to them. LangGraph also saves
  the writes of each task. That part is left out for all savers.
- PostgreSQL runs on the same machine with \`fsync\` and \`synchronous_commit\` on. Servers share the processors with
  their client.
- Readers of Durable Streams cannot count back from the end. The client keeps the position of each turn in memory.

## How each store is used

| store | use |
|---|---|
${peers.map(({ title, use }) => `| ${title} | ${use} |`).join('\n')}

## Versions

${about.versions.map((version) => `- ${version}`).join('\n')}

## How far the rounds lie apart

Each cell has the least and the greatest factor of a round: the peer's figure divided by that of Quipu.

${toSpreadTable(peers, rounds)}
`;
}

function toSpreadTable(peers: readonly Peer[], rounds: Rounds): string {
  const columns = COLUMNS.filter(({ words }) => words !== undefined);
  const head = ['store', ...columns.map(({ title }) => title)];
  const body = peers.flatMap(({ driver, against, title }) => {
    if (against === undefined) return [];
    const spread = ({ name }: Column): string => {
      const shares = ratios(rounds, [driver, against], name);
      return `${Math.min(...shares).toFixed(2)} to ${Math.max(...shares).toFixed(2)}`;
    };
    return [[title, ...columns.map(spread)]];
  });
  return [head, head.map(() => '---'), ...body]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}

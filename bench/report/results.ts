import type { Plot } from '../rows/finding.ts';
import type { Sizes } from '../sizes.ts';
import type { Machine } from './machine.ts';

/** The whole of RESULTS.md. */
export function toResults(
  table: string,
  plots: readonly Plot[],
  { machine, sizes }: { machine: Machine; sizes: Sizes },
): string {
  const { date, node, cpu, system, disk, load } = machine;
  return `# Results

Written by \`npm run bench${sizes.name === 'full' ? ' -- --full' : ''}\` on ${date}. Node ${node}; ${cpu}; ${system}; ${disk}; ${load}.

${table}

How it was measured:

- Every figure is from a process and a folder of its own. Drivers take turns, ${sizes.rounds} rounds; a time is the median over the
  rounds, and a ratio is the median of the ratios within each round. Ratios travel between machines, times do not.
- Appends and reads are those of a process that lives for long: each driver runs in before it is measured, with as many appends
  by 64 writers as are counted then, twice as many by one, and a quarter of the reads. It holds 16 MB of its own meanwhile, as a small
  application does, and each of 64 writers makes its next payload in the memory of its last one.
- A payload is ${sizes.payloadBytes.toLocaleString('en-US')} bytes of JSON, each different; all drivers get the same bytes. Quipu gets
  them as bytes, so it does not check that they are JSON.
- Raw file: the bytes that Quipu stores, compressed beforehand, then \`write\` and \`fdatasync\`: the least that durability
  can cost. better-sqlite3: WAL, \`synchronous=FULL\`, one insert per transaction; reads are a recursive query over parents.
  JSON Lines: one file per thread, \`fdatasync\` per line; a fork copies the lines before it.
- Stores of many turns are filled in batches with ${sizes.smallPayloadBytes} bytes a turn and without waiting for the disk
  (\`durability: 'unsafe'\`), and forks are timed that way too: a sync would hide what grows.
- Upkeep: appends beside a collection are sent at a steady pace and timed from when they were due, so a pause counts for everyone
  who had to wait for it. What a check is compared with reads the same packs, unpacks what is compressed and hashes every blob; both
  by the processor time they take, and backups, too.
- Over TCP and HTTP: a server in a process of its own on the same machine, which syncs before it acknowledges as the embedded store
  does and logs nothing but warnings; one client process with the library's own client, so both share the processors. Figures in
  appends a second and milliseconds that must be reached there are absolute: they hold for the machine named above.
${plots.length === 0 ? '' : `\n${plots.map(({ file, title }) => `![${title}](plots/${file})`).join('\n')}\n`}`;
}

// Inserts the events on its standard input, one JSON object a line, in one transaction: what `thread push --batch` is
// measured beside.
import { readFileSync } from 'node:fs';
import process from 'node:process';
import type { NewEvent } from '../src/queue/events/queue.ts';
import { openRaw } from './workloads/queue.ts';

const raw = openRaw(process.argv[2] ?? '.');
const lines = readFileSync(process.stdin.fd, 'utf8').trimEnd().split('\n');
raw.database.transaction(() => lines.forEach((line) => raw.insert(JSON.parse(line) as NewEvent)))();
console.log(lines.length);
raw.database.close();

import type { Appender, DriverName, DriverOptions, History } from './driver.ts';
import { JsonLines } from './json-lines.ts';
import { Quipu } from './quipu.ts';
import { RawFile } from './raw-file.ts';
import { Served, ServedEach } from './served.ts';
import { Sqlite } from './sqlite.ts';

export async function openAppender(name: DriverName, folder: string): Promise<Appender> {
  if (name === 'raw-file') return new RawFile(folder);
  if (name === 'tcp-each') return ServedEach.open(folder);
  return openHistory(name, folder);
}

export async function openHistory(
  name: DriverName,
  folder: string,
  options: DriverOptions = {},
): Promise<History> {
  switch (name) {
    case 'quipu':
      return Quipu.open(folder, options);
    case 'tcp':
    case 'http':
      return Served.open(folder, name);
    case 'sqlite':
      return new Sqlite(folder, options);
    case 'json-lines':
      return new JsonLines(folder, options);
    case 'raw-file':
      throw new TypeError('a raw file keeps no history');
    case 'postgres':
      throw new TypeError('a database is measured by workloads of its own');
    case 'tcp-each':
      throw new TypeError('a connection for each thread is for appends');
    case 'quipu-saver':
    case 'sqlite-saver':
    case 'sqlite-saver-full':
    case 'quipu-postgres-saver':
    case 'postgres-saver':
    case 'quipu-streams':
    case 'streams-server':
      throw new TypeError(`${name} keeps conversations, and nothing else`);
  }
}

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseJsonLine } from '../../base/json-lines.ts';
import { textAt } from '../source/fields.ts';
import { statFile } from '../source/walk-folder.ts';

const INDEX_BYTES_MAX = 64 * 1024 * 1024;

/** The names of threads in `session_index.jsonl`; the last line of a thread counts. */
export async function readTitles(home: string): Promise<Map<string, string>> {
  const titles = new Map<string, string>();
  const found = await statFile(join(home, 'session_index.jsonl'));
  if (found === undefined || found.size > INDEX_BYTES_MAX) return titles;
  const text = await readFile(found.path, 'utf8').catch(() => '');
  for (const line of text.split('\n')) {
    for (const { value } of parseJsonLine(line, () => true).records) {
      const [id, title] = [textAt(value, 'id'), textAt(value, 'thread_name')];
      if (id !== undefined && title !== undefined) titles.set(id, title);
    }
  }
  return titles;
}

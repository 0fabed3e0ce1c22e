import { isFields } from '../../base/fields.ts';
import { readdir, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { at, textAt } from '../source/fields.ts';
import type { SourceFile } from '../source/source.ts';
import { readSmallJson, walkFolder } from '../source/walk-folder.ts';

// opencode before it had a database: `storage/session/<project>/<session>.json`, `storage/message/<session>/<message>.json`,
// `storage/part/<message>/<part>.json`. Ids come from the paths; the contents may disagree.

export async function* discoverStorage(home: string): AsyncGenerator<SourceFile> {
  const wants = (name: string): boolean => /^session\/[^/]+\/[^/]+\.json$/.test(name);
  const storage = join(home, 'storage');
  for await (const { path, modifiedMs } of walkFolder(storage, wants)) {
    const session = basename(path, '.json');
    const root = dirname(dirname(dirname(path)));
    const messages = await jsonIn(join(root, 'message', session));
    yield {
      path: `${path}#messages`,
      session,
      form: 'lines',
      // The file of the session changes with each message, and their number does not go down.
      size: messages.length,
      modifiedMs,
      records: () => readStorage(path, root, session, messages),
    };
  }
}

async function* readStorage(
  path: string,
  root: string,
  session: string,
  messages: readonly string[],
): AsyncGenerator<object> {
  const about = await readSmallJson(path);
  yield { session: { ...(isFields(about) ? about : {}), id: session } };
  const infoOf = (id: string): Promise<unknown> =>
    readSmallJson(join(root, 'message', session, `${id}.json`));
  // One file is open and in memory at a time, however many messages there are.
  const times: { readonly id: string; readonly created: number }[] = [];
  for (const id of messages) {
    const created = at(await infoOf(id), 'time', 'created');
    times.push({ id, created: typeof created === 'number' ? created : 0 });
  }
  const sorted = times.toSorted((a, b) => a.created - b.created || (a.id < b.id ? -1 : 1));
  for (const { id } of sorted) {
    const info = await infoOf(id);
    const parts: object[] = [];
    for (const part of await jsonIn(join(root, 'part', id))) {
      const value = await readSmallJson(join(root, 'part', id, `${part}.json`));
      if (isFields(value)) parts.push({ ...value, id: part });
    }
    yield { info: { ...(isFields(info) ? info : {}), id }, parts };
  }
}

/** Names of JSON files, without their ends. Ids ascend. A link to a folder is not followed. */
async function jsonIn(folder: string): Promise<string[]> {
  const isReal = (await realpath(folder).catch(() => '')) === folder;
  const names = isReal ? await readdir(folder).catch(() => []) : [];
  return names
    .filter((name) => name.endsWith('.json') && textAt({ name }, 'name') !== '.json')
    .map((name) => name.slice(0, -5))
    .toSorted();
}

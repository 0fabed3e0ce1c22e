import { isFields } from '../../base/fields.ts';
import { readdir, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { at, listAt, textAt, timeAt } from '../source/fields.ts';
import type {
  RecordReader,
  Source,
  SourceFile,
  SourceRecord,
  Taken,
  TurnHead,
} from '../source/source.ts';
import { readSmallJson, statPlace, walkFolder } from '../source/walk-folder.ts';
import { discoverDatabase, closeDatabases } from './opencode-database.ts';
import { asTitle, detailsOf, flagsOf, readUsage, titleOf, turnOf } from './shared.ts';
import { SHOWS } from '../show/show-records.ts';

// opencode: a SQLite database, or in older versions one file for each session, message and part. A record is a message
// with its parts, `{info, parts}`, as `opencode export` writes it. A session is one chain.

export const opencode: Source = {
  name: 'opencode',
  title: 'opencode',
  homes: ({ env, home }) => [
    join(env['XDG_DATA_HOME'] || join(home, '.local', 'share'), 'opencode'),
  ],

  async *discover(place: string): AsyncGenerator<SourceFile> {
    const found = await statPlace(place);
    if (found === undefined) return;
    if (found.isFolder) {
      const seen = new Set<string>();
      for await (const file of discoverDatabase(found.path)) {
        seen.add(file.session);
        yield file;
      }
      // Migrations have lost sessions: what only the files have comes from there.
      for await (const file of discoverStorage(found.path)) if (!seen.has(file.session)) yield file;
    } else if (found.path.endsWith('.db')) yield* discoverDatabase(found.path);
    else {
      const session = basename(found.path, '.json');
      yield { ...found, session, form: 'whole' };
    }
  },

  isRecord: isFields,
  read: () => new OpencodeReader(),
  show: SHOWS.opencode,
  close: closeDatabases,
};

class OpencodeReader implements RecordReader {
  #before: string | null = null;
  #revert: string | undefined;
  /** The id of the message before the one that was reverted. */
  #beforeRevert: string | null = null;
  #isFork = false;

  end(): readonly Taken[] {
    const id = this.#revert;
    if (id === undefined) return [];
    const value = { revert: id };
    const parts = [{ id: `revert ${id}`, raw: JSON.stringify(value), value }];
    const head = { kind: 'revert' };
    return [{ do: 'turn', what: 'marker', parts, parent: this.#beforeRevert, head }];
  }

  take({ value, raw }: SourceRecord): readonly Taken[] {
    // An export is one object; what databases and folders give begins with the session.
    if (Array.isArray(value['messages'])) {
      const { messages, ...about } = value;
      const session = { session: at(value, 'info') };
      return [
        ...this.#session(session, JSON.stringify(about)),
        ...(messages as unknown[])
          .filter(isFields)
          .flatMap((value) => this.#message({ value, raw: JSON.stringify(value) })),
      ];
    }
    return isFields(value['session']) ? this.#session(value, raw) : this.#message({ value, raw });
  }

  #session(value: SourceRecord['value'], raw: string): readonly Taken[] {
    const session = value['session'];
    const title = textAt(session, 'title');
    const parent = textAt(session, 'parentID');
    const agent = textAt(session, 'id') ?? '';
    this.#isFork = / \(fork #[0-9]+\)$/.test(title ?? '');
    this.#revert = textAt(session, 'revert', 'messageID');
    const origin = textAt(value, 'copyOf');
    const details = {
      title: asTitle(title),
      cwd: textAt(session, 'directory'),
      version: textAt(session, 'version'),
      startedAt: timeAt(session, 'time', 'created'),
      parent: parent === undefined ? undefined : { session: parent, agent },
      copyOf: origin === undefined ? undefined : { session: origin },
    };
    return [...detailsOf(details), { do: 'aside', id: 'session', raw }];
  }

  #message(record: Pick<SourceRecord, 'value' | 'raw'>): readonly Taken[] {
    const { value, raw } = record;
    const info = value['info'];
    const id = textAt(info, 'id') ?? `raw ${raw}`;
    const parts = listAt(value, 'parts');
    const parent = this.#before;
    if (id === this.#revert) this.#beforeRevert = parent;
    this.#before = id;
    const isAnswer = textAt(info, 'role') === 'assistant';
    const text = parts
      .map((part) => (textAt(part, 'type') === 'text' ? textAt(part, 'text') : ''))
      .join('');
    const model = modelOf(info);
    const role = isAnswer ? 'assistant' : 'user';
    const marker = parts.some((part) => textAt(part, 'type') === 'compaction')
      ? { kind: 'compaction' }
      : at(info, 'summary') === true
        ? { kind: 'compaction-summary', summary: text.slice(0, 4000) }
        : undefined;
    const head = {
      at: timeAt(info, 'time', 'created'),
      role,
      model: isAnswer ? model : undefined,
      usage: isAnswer ? readUsage(at(info, 'tokens'), TOKENS) : undefined,
      flags: stateOf(parts),
      ...marker,
    } as const;
    const content = `content ${role} ${text}`;
    const turn = turnOf(record, marker === undefined ? 'message' : 'marker', head, {
      parts: [{ id, raw, value }],
      parent,
      ids: [...calls(parts), ...(this.#isFork ? [] : [content])],
      ...(this.#isFork && { alike: [content] }),
    });
    return [...detailsOf({ model }), ...(isAnswer ? [] : titleOf(text)), turn];
  }
}

function modelOf(info: unknown): string | undefined {
  const provider = textAt(info, 'providerID') ?? textAt(info, 'model', 'providerID');
  const model = textAt(info, 'modelID') ?? textAt(info, 'model', 'modelID');
  return model === undefined || provider === undefined ? model : `${provider}/${model}`;
}

const TOKENS = {
  input: 'input',
  output: ['output', 'reasoning'],
  cacheRead: 'cache.read',
  cacheWrite: 'cache.write',
} as const;

/** A call that never ended means that the process died. */
function stateOf(parts: readonly unknown[]): TurnHead['flags'] | undefined {
  const states = parts.map((part) => textAt(part, 'state', 'status'));
  return flagsOf({
    interrupted: states.includes('pending') || states.includes('running'),
    truncated: parts.some((part) => textAt(part, 'state', 'metadata', 'outputPath') !== undefined),
  });
}

/** A subagent is named by the result of the call that started it. */
function calls(parts: readonly unknown[]): string[] {
  return parts.flatMap((part) => {
    const child = textAt(part, 'state', 'metadata', 'sessionId');
    return child === undefined ? [] : [`agent:${child}`];
  });
}

// opencode before it had a database: `storage/session/<project>/<session>.json`, `storage/message/<session>/<message>.json`,
// `storage/part/<message>/<part>.json`. Ids come from the paths; the contents may disagree.

async function* discoverStorage(home: string): AsyncGenerator<SourceFile> {
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

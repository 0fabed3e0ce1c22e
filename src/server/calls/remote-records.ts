import { toHash } from '../../base/brand.ts';
import { invalid, isQuipuError, QuipuError, tooLarge } from '../../base/errors.ts';
import { decodeUtf8 } from '../../base/text.ts';
import { parsePieceList, readPieceList } from '../../chat/events/chat-lines.ts';
import { parseTypes, parseHeld, parseMeta } from '../../chat/events/documents.ts';
import { LINE_PAYLOAD_BYTES } from '../../chat/events/limits.ts';
import { namesAll } from '../../chat/retention/chat-roots.ts';
import { parseSegmentLine } from '../../chat/segments/segment-line.ts';
import { parsePins } from '../../context/pins/pin-verbs.ts';
import { readTurnNote } from '../../context/streams/plan-seal.ts';
import type { Batch, BlobPut } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';
import { awayDocs } from '../../session/keep/away-sessions.ts';
import type { KindName } from '../../store/root-sources.ts';
import { parseRegistry } from '../../workflow/bundles/bundles.ts';
import { parseObject } from '../../workflow/home/documents.ts';
import { parseHistoryLine, parseIndex, parseNote } from '../../workflow/threads/thread-docs.ts';
import { assertAllowed, type Identity, type Needed } from '../access/access.ts';

// The documents and logs that a commit from outside may write, in addition to turns and blobs. Kinds of thread run in
// the client, so their documents and logs come over the wire, and any holder of a token can make one up. So each name
// must be one that a kind writes there, and each text must be one that this kind can read. The server or its owner
// trusts some documents: where a file is, what was erased, which patch a key stands for. Only the server's own verbs
// write those, so they stand in no row here.

interface Place {
  readonly engine: Engine;
  /** The blobs that come with the commit. */
  readonly blobs: readonly BlobPut[];
  readonly name: string;
  /** The text that the brackets of the pattern matched. */
  readonly id: string;
}

interface Rule {
  readonly of: 'document' | 'log';
  readonly names: RegExp;
  /**
   * Checks the content of a document, or each line of a log, all of them JSON. Throws for a text that its kind would
   * not write.
   */
  readonly check: (text: string, place: Place) => unknown;
  /** The right that is needed in addition to the scope of a commit. */
  readonly needs?: Needed;
  /** The largest size of a line of a log. Readers read hundreds of lines at once. */
  readonly lineBytes?: number;
}

const RULES: Readonly<Record<KindName | 'pins', readonly Rule[]>> = {
  contexts: [{ of: 'document', names: /^turn-notes\/([1-9]\d*)\.json$/, check: checkTurnNote }],
  pins: [{ of: 'document', names: /^pins\/turns\.json$/, check: parsePins }],
  chats: [
    { of: 'document', names: /^chats\/session-(\w{1,128})\.meta\.json$/, check: checkChatMeta },
    { of: 'document', names: /^chats-types\/types\.json$/, check: parseTypes },
    { of: 'document', names: /^chats-held\/[0-9a-z]{26}\.json$/, check: parseHeld },
    // Chats can read any line, and report the lines that are no events.
    {
      of: 'log',
      names: /^chats\/session-\w{1,128}\.events\.ndjson$/,
      check: () => undefined,
      lineBytes: 4 * LINE_PAYLOAD_BYTES,
    },
    { of: 'log', names: /^chats-cache\/session-(\w{1,128})\.ndjson$/, check: checkSegment },
  ],
  workflows: [
    // A client that runs a workflow runs the module named here.
    {
      of: 'document',
      names: /^workflows\/workflow\.yaml$/,
      check: parseRegistry,
      needs: 'handlers',
    },
    {
      of: 'document',
      names: /^workflows\/bundles\/[0-9a-f]{64}\/threads\.json$/,
      check: (text, { name }) => parseIndex(name, text),
    },
    {
      of: 'document',
      names: /^workflows\/threads\/[0-9A-Z]{26}\.json$/,
      check: (text, { name }) => parseNote(name, text),
    },
    {
      of: 'log',
      names: /^workflows\/bundles\/[0-9a-f]{64}\/history\/\d{4}-\d\d-\d\d\.jsonl$/,
      check: (text, { name }) => parseHistoryLine(name, text),
      lineBytes: 4096,
    },
    {
      of: 'log',
      names: /^workflows\/bundles\/[0-9a-f]{64}\/[0-9A-Z]{26}\.info\.jsonl$/,
      check: (text, { name }) => parseObject(name, text),
      lineBytes: 256 * 1024,
    },
  ],
  // Sessions whose files a client keeps. Sessions of the server are in other documents.
  sessions: awayDocs().map(({ names, check }) => ({
    of: 'document',
    names,
    check: (content, { name }) => check({ name, content }),
  })),
  queues: [],
};

const ALL = Object.values(RULES).flat();

/** FORBIDDEN for a name that `identity` may not write, INVALID for a text that its kind could not read. */
export async function checkRecords(
  engine: Engine,
  { blobs = [], docs = [], logs = [] }: Batch,
  identity: Identity,
): Promise<void> {
  if (identity.owner === true) return;
  for (const { name, content } of docs) {
    const find = findRule('document', name, identity);
    if (content !== undefined) await checkText(find, content, { engine, blobs, name });
  }
  for (const change of logs) {
    const { name } = change;
    const find = findRule('log', name, identity);
    if (change.do === 'remove') continue;
    for (const line of change.lines) {
      assertFits(line, find.lineBytes ?? Infinity);
      await checkText(find, line, { engine, blobs, name });
    }
  }
}

function assertFits(line: string, limit: number): void {
  const size = Buffer.byteLength(line);
  if (size <= limit) return;
  throw tooLarge('line', limit, size, `a line takes ${size} bytes, and ${limit} are allowed`);
}

function findRule(what: Rule['of'], name: string, identity: Identity): Rule {
  const rule = ALL.find(({ of, names }) => of === what && names.test(name));
  if (rule === undefined) {
    const message = `a commit over the network may not write the ${what} ${name}: clients write those of chats, workflows, pins, notes of turns and sessions of their own; use the verb that makes it, or open the folder of the store`;
    throw new QuipuError('FORBIDDEN', message, { scope: 'owner' });
  }
  if (rule.needs !== undefined) assertAllowed(identity, rule.needs);
  return rule;
}

async function checkText(
  { names, check }: Rule,
  text: string,
  place: Omit<Place, 'id'>,
): Promise<void> {
  const [, id = ''] = names.exec(place.name) ?? [];
  try {
    await check(text, { ...place, id });
  } catch (error) {
    // A kind calls such a text corrupt when it finds it in a store; here it is refused before it is stored.
    const isWrong = isQuipuError(error, 'CORRUPT') || isQuipuError(error, 'INVALID');
    if (!isWrong && !isQuipuError(error, 'NOT_FOUND') && !(error instanceof SyntaxError))
      throw error;
    throw invalid(place.name, `has content that its kind of thread cannot read: ${error.message}`);
  }
}

function refuse(problem: string): never {
  throw invalid('content', problem);
}

function checkTurnNote(text: string, { name }: Place): void {
  if (readTurnNote(name, text) === undefined) refuse('has no reason');
}

async function checkChatMeta(text: string, { engine, blobs, id }: Place): Promise<void> {
  const { meta, problem } = parseMeta(id, text);
  if (problem !== undefined) refuse(problem.message);
  for (const hash of meta.past_archives ?? []) toHash(hash);
  if (meta.archive === undefined) return;
  const archive = toHash(meta.archive.hash);
  const put = blobs.find(({ hash }) => hash === archive);
  const pieces =
    put === undefined
      ? await readPieceList(engine, archive)
      : parsePieceList(decodeUtf8(put.bytes));
  if (!Array.isArray(pieces)) refuse('names an archive that is no list of pieces');
  for (const piece of pieces) toHash((piece as { hash?: string } | null)?.hash ?? '');
}

/** A collection goes by it. */
async function checkSegment(text: string, { engine, id }: Place): Promise<void> {
  const line = parseSegmentLine(text) ?? refuse('is no line about a segment');
  if (!(await namesAll(engine, id, line))) refuse('is not about the events of that segment');
}

import { NO_TURN, toTurnId, type ContextId, type TurnId } from '../../base/brand.ts';
import { QuipuError, invalid, isQuipuError } from '../../base/errors.ts';
import { hashBytes, hashText } from '../../base/hash.ts';
import { PAYLOAD_BYTES_MAX } from '../../context/limits.ts';
import { encodePayload, encodingOf } from '../../context/payloads/codecs.ts';
import type { BatchTurn, NewTurn, ReadOptions } from '../../context/contexts.ts';
import type { Turn } from '../../context/turn.ts';
import type { Store } from '../../store/store.ts';
import { withProgress, type CommandIo, type QuipuShell } from '../kit/command.ts';
import { readInput, readLines, openOutput, type OutGiven } from '../kit/files.ts';
import { LINE_BYTES_MAX, parseFields, toTurn, type TurnFields } from './read-batch.ts';
import { toReadOptions } from './turn-parts.ts';

// The lines of an exported context, and the import of such lines.
//
// Invariants:
// - A line has a key: the hash of the line and of all lines before it in its chain. The context that a turn was written
//   to has one, too. So whoever imports a line again finds the turn that it became.
// - A turn that is there is found on the way to the head of its context, by its content, or else by its key.
// - Memory: one group of lines.

const GROUP_TURNS = 500;
const GROUP_BYTES = 8 * 1024 * 1024;
/** Contexts that the turns of one chain may come from. */
const OWNERS_MAX = 10_000;
const REASON_CHARS = 1000;

/** A line of an export that was checked. */
interface Line {
  readonly number: number;
  /** The turn and the context where it comes from. */
  readonly id: TurnId;
  readonly parent: TurnId;
  readonly owner: string;
  readonly turn: NewTurn & { readonly payload: Uint8Array };
  /** Set for a tombstone, whose payload is not in the file. */
  readonly reason: string | undefined;
  readonly key: string;
}

export async function importLines(io: CommandIo, file: string): Promise<void> {
  const { shell } = io;
  const read = (): AsyncGenerator<readonly Line[]> => readGroups(readInput(shell, file));
  // A file is checked first, so that a damaged one changes nothing.
  if (file !== '-') for await (const _ of read()) continue;
  const store = await io.createStore();
  const importer = new Importer(store);
  try {
    for await (const group of read()) {
      if (group[0]?.parent === NO_TURN) await finish(io, importer);
      await importer.add(group);
    }
  } catch (error) {
    throw isQuipuError(error) ? withKept(error, importer.kept) : error;
  }
  await finish(io, importer);
}

async function finish(io: CommandIo, importer: Importer): Promise<void> {
  const report = await importer.finish();
  if (report !== undefined) await io.print(report, () => `${report.context}\n`);
}

function withKept(error: QuipuError, kept: number): QuipuError {
  if (kept === 0) return error;
  const message = `${error.message}; the ${kept} turns before were kept, and the same command goes on from there`;
  return new QuipuError(error.code, message, error.data, { cause: error });
}

/** Lines in groups: of one chain and one context, as many as fit into a commit. */
async function* readGroups(source: AsyncIterable<Uint8Array>): AsyncGenerator<readonly Line[]> {
  let number = 0;
  let before: Line | undefined;
  let group: Line[] = [];
  let bytes = 0;
  for await (const text of readLines(source, LINE_BYTES_MAX)) {
    number += 1;
    const fields = parseFields(text, number);
    if (fields === undefined) continue;
    const line = toLine(fields, number, before);
    bytes += line.turn.payload.length;
    const isOther = line.parent === NO_TURN || line.owner !== before?.owner;
    if (group.length > 0 && (isOther || group.length === GROUP_TURNS || bytes > GROUP_BYTES)) {
      yield group;
      group = [];
      bytes = line.turn.payload.length;
    }
    group.push(line);
    before = line;
  }
  if (before === undefined)
    throw invalid('file', 'has no turns; write one with: quipu context export');
  yield group;
}

function toLine(fields: TurnFields, number: number, before: Line | undefined): Line {
  const where = `line ${number}`;
  const id = toId(fields.id, where, '"id"');
  const parent = toId(fields.parent, where, '"parent"');
  const owner = String(toId(fields.context, where, '"context"'));
  if (id === NO_TURN || parent >= id) throw invalid(where, 'has ids that no turn has');
  if (parent !== NO_TURN && parent !== before?.id) {
    throw invalid(where, `is turn ${id} after ${parent}, which is not the line before`);
  }
  const isTombstone = fields.tombstone === true;
  if (fields.payload === undefined && !isTombstone) {
    throw invalid(where, 'has no "payload"; export without --no-payload');
  }
  const why = typeof fields.reason === 'string' ? fields.reason.slice(0, REASON_CHARS) : '';
  const reason = isTombstone ? why || 'tombstone' : undefined;
  // A payload hidden by a tombstone is not in the file. An empty payload stands for it.
  const turn = toTurn(
    isTombstone ? { ...fields, encoding: 'bytes', payload: { base64: '' } } : fields,
    number,
  );
  const hash = hashBytes(turn.payload);
  if (!isTombstone && fields.payloadHash !== undefined && fields.payloadHash !== hash) {
    throw invalid(where, 'has a payload that does not fit its "payloadHash"; export it again');
  }
  const chain = parent === NO_TURN ? '' : (before?.key ?? '');
  const { type, version, encoding } = turn;
  const facts = [chain, id, fields.createdAt, owner, type, version, encoding, hash, reason ?? ''];
  const key = hashText(facts.map(String).join('\0'));
  return { number, id, parent, owner, turn, reason, key };
}

function toId(given: unknown, where: string, what: string): TurnId {
  if (typeof given === 'string' && /^[0-9]{1,19}$/.test(given))
    return toTurnId(BigInt(given), true);
  throw invalid(where, `has no ${what}; give it what "quipu context export" wrote`);
}

interface Report {
  readonly context: string;
  readonly turns: number;
  readonly added: number;
}

class Importer {
  readonly #store: Store;
  /** The contexts of the chain, by the context that each stands for. */
  readonly #contexts = new Map<string, ContextId>();
  #chain: { readonly root: string; turns: number; added: number } | undefined;
  /** The turn that the last line became, and its context. */
  #last: { readonly turn: Turn; readonly context: ContextId; readonly key: string } | undefined;
  #kept = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Turns that were stored. */
  get kept(): number {
    return this.#kept;
  }

  /** Adds lines of one context, of which each follows the one before. */
  async add(group: readonly Line[]): Promise<void> {
    const [first] = group;
    if (first === undefined) return;
    if (first.parent === NO_TURN) {
      this.#contexts.clear();
      this.#last = undefined;
      this.#chain = { root: first.key, turns: 0, added: 0 };
    }
    const context = await this.#contextOf(first);
    let left = group.slice(await this.#matchHead(context, group));
    while (left.length > 0) left = left.slice(await this.#append(context, left));
    if (this.#chain !== undefined) this.#chain.turns += group.length;
  }

  /** The context at the end of a chain. It leads to the last turn. Undefined when nothing was added before. */
  async finish(): Promise<Report | undefined> {
    if (this.#last === undefined || this.#chain === undefined) return undefined;
    const { turn, context, key } = this.#last;
    const { turns, added } = this.#chain;
    const { contexts } = this.#store;
    const [there] = (await contexts.range(context, turn.depth, turn.depth + 1, NO_PAYLOAD)).turns;
    const found =
      there?.id === turn.id
        ? context
        : (await contexts.fork(turn.id, { idempotencyKey: `${KEY}head:${key}` })).id;
    this.#last = undefined;
    return { context: String(found), turns, added };
  }

  /** The context that stands for the one that a line was written to, made where its first turn is to be. */
  async #contextOf({ owner }: Line): Promise<ContextId> {
    const known = this.#contexts.get(owner);
    if (known !== undefined) return known;
    if (this.#contexts.size >= OWNERS_MAX) {
      throw invalid('file', `has turns of more than ${OWNERS_MAX} contexts in one chain`);
    }
    const given = { idempotencyKey: `${KEY}${this.#chain?.root}:${owner}` };
    const { contexts } = this.#store;
    const { id } =
      this.#last === undefined
        ? await contexts.create(given)
        : await contexts.fork(this.#last.turn.id, given);
    this.#contexts.set(owner, id);
    return id;
  }

  /** Finds lines on the way to the head, after the last turn. Returns how many. */
  async #matchHead(context: ContextId, group: readonly Line[]): Promise<number> {
    const { contexts } = this.#store;
    const last = this.#last?.turn;
    const from = last === undefined ? 0 : last.depth;
    const page = await contexts.range(context, from, from + group.length + 1, NO_PAYLOAD);
    const turns = last === undefined ? page.turns : page.turns.slice(1);
    if (last !== undefined && page.turns[0]?.id !== last.id) return 0;
    let matched = 0;
    for (const [index, line] of group.entries()) {
      const turn = turns[index];
      if (turn === undefined || !isSame(turn, line)) break;
      this.#last = { turn, context, key: line.key };
      matched += 1;
    }
    return matched;
  }

  /** Appends the first line, or finds it by its key; then all others, if it is the head now. Returns how many. */
  async #append(context: ContextId, lines: readonly Line[]): Promise<number> {
    const { contexts } = this.#store;
    const [first, ...rest] = lines as readonly [Line, ...Line[]];
    const before = await contexts.get(context);
    const turn = await this.#appendOne(context, first);
    const head = (await contexts.get(context))?.head;
    // A turn that was there moves no head.
    await this.#note(context, first, turn, head === turn.id && before?.head !== turn.id);
    const upTo = rest.findIndex(({ reason }) => reason !== undefined);
    const batch = upTo === -1 ? rest : rest.slice(0, upTo);
    if (head !== turn.id || first.reason !== undefined || batch.length === 0) return 1;
    const keyed = batch.map((line): BatchTurn => ({
      ...line.turn,
      idempotencyKey: KEY + line.key,
    }));
    const turns = await contexts.appendBatch(context, keyed, { expectedHead: turn.id });
    for (const [index, line] of batch.entries()) {
      const added = turns[index];
      if (added !== undefined) await this.#note(context, line, added, true);
    }
    return 1 + batch.length;
  }

  /** A turn that a batch added has no parent of its own, so the key finds it only without one. */
  async #appendOne(context: ContextId, { turn, key }: Line): Promise<Turn> {
    const { contexts } = this.#store;
    const parent = this.#last?.turn.id ?? NO_TURN;
    try {
      const given = { expectedHead: parent, idempotencyKey: `${KEY}${key}` };
      return await contexts.append(context, turn, given);
    } catch (error) {
      if (!isQuipuError(error, 'HEAD_MOVED')) throw error;
      return await contexts.append(context, turn, { parent, idempotencyKey: `${KEY}aside ${key}` });
    }
  }

  async #note(
    context: ContextId,
    { key, reason }: Line,
    turn: Turn,
    isNew: boolean,
  ): Promise<void> {
    const { contexts } = this.#store;
    if (reason !== undefined && (await contexts.turn(turn.id, NO_PAYLOAD))?.tombstone === false) {
      await contexts.tombstone(turn.id, reason);
    }
    this.#last = { turn, context, key };
    if (!isNew) return;
    this.#kept += 1;
    if (this.#chain !== undefined) this.#chain.added += 1;
  }
}

const KEY = 'context import ';
const NO_PAYLOAD = { payload: false };

/** A tombstone stands for a payload that nobody has, so any tombstone of the type is the same. */
function isSame(turn: Turn, { turn: given, reason }: Line): boolean {
  if (turn.type !== given.type || turn.version !== given.version) return false;
  if (reason !== undefined) return turn.tombstone;
  return (
    turn.encoding === encodingOf(given.encoding as number) &&
    turn.payloadHash === hashBytes(given.payload)
  );
}

/** Writes the turns from the root to `tip`, one JSON object a line, to standard output or a file. */
export async function exportChain(
  shell: QuipuShell,
  store: Store,
  tip: { readonly id: TurnId; readonly depth: number } | undefined,
  options: ReadOptions & OutGiven,
): Promise<void> {
  await using output = await openOutput(shell, options);
  const turns = tip === undefined ? [] : store.contexts.chain(tip.id, toReadOptions(options));
  await withProgress(shell, async (report) => {
    for await (const turn of turns) {
      await output.write(`${JSON.stringify(toExported(turn))}\n`);
      // A bar in the middle of the printed output would only disturb.
      if (options.out !== undefined) report(turn.depth + 1, (tip?.depth ?? 0) + 1, 'turns');
    }
  });
  await output.complete();
}

/** The turn, and its exact bytes where its value would be encoded as others: keys in another order, spaces. */
function toExported(turn: Turn): object {
  const line = turn.toJSON();
  const { bytes } = turn;
  if (bytes === undefined || line.undecodable === true || isEncodedAs(turn, bytes)) return line;
  return { ...line, bytes: { base64: Buffer.from(bytes).toString('base64') } };
}

function isEncodedAs({ payload, encoding }: Turn, bytes: Uint8Array): boolean {
  try {
    const again = encodePayload(payload, encoding, { maxPayloadBytes: PAYLOAD_BYTES_MAX });
    return Buffer.compare(again.bytes, bytes) === 0;
  } catch {
    // Such as a number that the encoding does not write.
    return false;
  }
}

import { NO_TURN } from '../../base/brand.ts';
import type { TurnId, ContextId } from '../../base/brand.ts';
import { QuipuError, notFound } from '../../base/errors.ts';
import { keepOldest, leadsTo } from '../../context/turns/read-pages.ts';
import { mustGetHead, viewTurns, walkDepths } from '../../context/turns/read-turns.ts';
import type { TurnDelta, Change } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';
import type { HeadRow, PatchRow, TurnRow } from '../../engine/rows.ts';
import { TurnFlag } from '../../format/turn-record.ts';
import { PatchFlag } from '../../wire/cxdb/messages.ts';
import { FROM_NOW, Want, decodeSubscribe, encodePush } from '../../wire/cxdb/turns.ts';
import type { Push } from '../../wire/cxdb/turns.ts';
import { encodeError } from '../../wire/error-message.ts';
import { MessageType } from '../../wire/message-type.ts';
import type { LongTask, Plan, Reply, Session } from '../request/request.ts';
import { isOwnFault, toWireError, tooMuch } from '../request/request.ts';
import { contextOf } from '../request/take-input.ts';
import { headParts } from './messages.ts';
import { toSentOpenTurn, toSentTurns } from './pages.ts';
import { Bell } from '../../base/bell.ts';

// One SUBSCRIBE: first the turns that exist, then the new ones.
// Invariants
// - The subscription listens before it reads, so no turn falls between the two. It skips an event about a turn that it
//   has already read. Turns of one context become its head in the order of their ids.
// - `#last` is the head as the client knows it. Every turn after it on the chain is sent once.
// - The subscription reads payloads only when there is room for them, so a slow client costs only records and deltas.

const NO_BYTES = new Uint8Array();
/** The number of records read at a time. */
const CHAIN_TURNS = 64;
/** The bytes of payloads read at a time; a larger payload is read alone. */
const CHAIN_BYTES = 262_144;

interface SubscriptionPlan {
  readonly context: ContextId;
  readonly payloads: boolean;
  readonly openTurns: boolean;
  readonly patches: boolean;
}

type SubscriptionEvent =
  /** The turn became the head; `sealed`: the turn was open before. */
  | { readonly kind: 'turn'; readonly row: TurnRow; readonly sealed: boolean }
  | { readonly kind: 'opened'; readonly row: TurnRow }
  | { readonly kind: 'delta'; readonly delta: TurnDelta }
  /** A patch on any turn of the store. */
  | { readonly kind: 'patch'; readonly patch: PatchRow }
  | { readonly kind: 'removed' };

/** The bytes that an event costs in addition to the bytes it holds. */
const EVENT_BYTES = 512;

/** A turn of the chain, or the place before the root. */
interface Position {
  readonly id: TurnId;
  readonly depth: number;
}

const BEFORE_ROOT: Position = { id: NO_TURN, depth: -1 };

class Subscription implements LongTask {
  readonly kind = 'stream';
  readonly #engine: Engine;
  readonly #session: Session;
  readonly #reqId: Buffer;
  readonly #plan: SubscriptionPlan;
  readonly #bell = new Bell();
  /** Events that were not sent yet: records and deltas, never payloads. */
  readonly #events: SubscriptionEvent[] = [];
  #eventBytes = 0;
  /** The turn whose deltas count. While undefined, the deltas of every turn count. */
  #openTurn: TurnId | undefined;
  readonly #stopListening: () => void;
  #last: Position = BEFORE_ROOT;
  /** The open turn that the client was told of, and the number of its bytes that the client has. */
  #open: { readonly id: TurnId; length: number } | undefined;
  #over = false;

  constructor(engine: Engine, session: Session, reqId: Buffer, plan: SubscriptionPlan) {
    this.#engine = engine;
    this.#session = session;
    this.#reqId = reqId;
    this.#plan = plan;
    this.#stopListening = engine.subscribe(
      (change) => this.#note(change),
      () => this.cancel(tooMuch('changes went by unheard; subscribe again after the last turn')),
    );
  }

  /** Begins to send the turns after `after`. `head` is the state of the context, read after listening began. */
  start(head: HeadRow, after: Position | undefined): void {
    if (!this.#over) void this.#run(head, after ?? BEFORE_ROOT);
  }

  cancel(error?: Error): void {
    if (this.#over) return;
    this.#over = true;
    this.#stopListening();
    this.#bell.ring();
    if (error === undefined) return;
    this.#session.tasks.end(this.#reqId, this);
    const message = toWireError(error, this.#session.knowsQuipu);
    this.#session.push(MessageType.ERROR, this.#reqId, encodeError(message));
  }

  #note(change: Change): void {
    const { context, openTurns, patches } = this.#plan;
    for (const row of change.turns) if (row.context === context) this.#noteTurn(row);
    if (openTurns) this.#noteOpen(change);
    for (const row of change.sealed) {
      if (row.context === context) this.#noteEvent({ kind: 'turn', row, sealed: true });
    }
    if (patches) for (const patch of change.patches) this.#noteEvent({ kind: 'patch', patch });
    if (change.removedContexts.includes(context)) this.#noteEvent({ kind: 'removed' });
    if (this.#eventBytes > this.#session.limits.subscriptionBytes) {
      this.cancel(tooMuch('the subscriber is too slow; subscribe again after the last turn'));
    }
  }

  #noteOpen(change: Change): void {
    for (const row of change.opened) {
      if (row.context !== this.#plan.context) continue;
      this.#openTurn = row.id;
      this.#noteEvent({ kind: 'opened', row });
    }
    for (const delta of change.deltas) {
      if (this.#openTurn !== undefined && this.#openTurn !== delta.turn) continue;
      this.#noteEvent({ kind: 'delta', delta });
    }
  }

  /** A head that only grew is one event. The turns up to it are found by walking back, many at a time. */
  #noteTurn(row: TurnRow): void {
    const last = this.#events.at(-1);
    const event = { kind: 'turn', row, sealed: false } as const;
    if (last?.kind === 'turn' && !last.sealed && last.row.id === row.parent) {
      this.#events[this.#events.length - 1] = event;
    } else this.#noteEvent(event);
  }

  #noteEvent(event: SubscriptionEvent): void {
    this.#events.push(event);
    this.#eventBytes += bytesOf(event);
    this.#bell.ring();
  }

  /** Never rejects. */
  async #run(head: HeadRow, after: Position): Promise<void> {
    try {
      this.#last = after;
      await this.#sendChain(after.depth + 1, { id: head.head, depth: head.headDepth });
      if (this.#plan.openTurns) await this.#sendOpenTurn(head.openTurn);
      await this.#push({ kind: 'caught-up', turn: this.#last.id });
      while (!this.#over) {
        const event = this.#events.shift();
        if (event === undefined) {
          await this.#bell.wait();
          continue;
        }
        this.#eventBytes -= bytesOf(event);
        await this.#send(event);
      }
    } catch (error) {
      if (this.#over) return;
      if (isOwnFault(error)) this.#session.failed(error);
      this.cancel(error instanceof Error ? error : new Error(String(error)));
    }
  }

  async #send(event: SubscriptionEvent): Promise<void> {
    switch (event.kind) {
      case 'turn':
        return this.#sendHead(event.row);
      case 'opened':
        if (event.row.id === this.#open?.id) return;
        return this.#sendOpened(event.row, NO_BYTES);
      case 'delta':
        return this.#sendDelta(event.delta);
      case 'patch':
        return this.#sendPatch(event.patch);
      case 'removed':
        throw notFound('context', this.#plan.context);
    }
  }

  /** Sends a turn that became the head, with the turns between it and the previous head. */
  async #sendHead(row: TurnRow): Promise<void> {
    if (row.id <= this.#last.id) return;
    let from = row.depth;
    if (row.parent !== this.#last.id) {
      const common = await this.#commonWith(row);
      from = common.depth + 1;
      if (this.#last !== BEFORE_ROOT && common.id !== this.#last.id) {
        const head = { head: row.id, headDepth: row.depth };
        await this.#push({ kind: 'head', common: common.id, ...head });
      }
    }
    if (this.#open?.id === row.id) {
      await this.#sendChain(from, { id: row.parent, depth: row.depth - 1 });
      await this.#sendSealed(row);
    } else await this.#sendChain(from, row);
    this.#last = row;
  }

  async #commonWith(row: TurnRow): Promise<Position> {
    if (this.#last === BEFORE_ROOT) return BEFORE_ROOT;
    return (await this.#engine.commonAncestor(this.#last.id, row.id)) ?? BEFORE_ROOT;
  }

  /** Sends the turns from depth `from` up to `tip`, which is then the client's position. */
  async #sendChain(from: number, tip: Position): Promise<void> {
    if (tip.id === NO_TURN) return;
    for (let depth = from; depth <= tip.depth && !this.#over; depth += CHAIN_TURNS) {
      const end = Math.min(depth + CHAIN_TURNS - 1, tip.depth);
      const rows = await walkDepths(this.#engine, tip.id, depth, end);
      for (let views = await viewTurns(this.#engine, rows, 'latest'); views.length > 0;) {
        const group = keepOldest(views, CHAIN_BYTES);
        views = views.slice(group.length);
        await this.#session.room();
        for (const turn of await toSentTurns(this.#engine, group, this.#plan.payloads)) {
          await this.#push({ kind: 'turn', ...turn });
        }
      }
    }
    this.#last = tip;
  }

  /** Sends the turn that was open when the context was read. If the turn is sealed by now, an event tells of it. */
  async #sendOpenTurn(id: TurnId): Promise<void> {
    // An event may have named a later one.
    this.#openTurn ??= id;
    if (id === NO_TURN) return;
    const open = await this.#engine.getOpenTurn(id);
    if (open !== undefined) await this.#sendOpened(open.row, open.bytes);
  }

  async #sendOpened(row: TurnRow, bytes: Uint8Array): Promise<void> {
    this.#open = { id: row.id, length: bytes.length };
    await this.#push({ kind: 'opened', ...toSentOpenTurn({ row, bytes }, true) });
  }

  async #sendDelta({ turn, offset, bytes }: TurnDelta): Promise<void> {
    const open = this.#open;
    if (open === undefined || open.id !== turn) return;
    const fresh = bytes.subarray(Math.max(0, open.length - offset));
    if (fresh.length === 0) return;
    const at = open.length;
    open.length += fresh.length;
    await this.#push({ kind: 'delta', turn, offset: at, bytes: fresh });
  }

  async #sendSealed(row: TurnRow): Promise<void> {
    this.#open = undefined;
    if (row.payload === undefined) throw new Error(`turn ${row.id} is sealed without a payload`);
    await this.#push({
      kind: 'sealed',
      turn: row.id,
      outcome: outcomeOf(row),
      totalLength: row.size,
      hash: row.payload,
    });
  }

  /** The subscription hears of patches in the whole store; it sends those on the chain of the client. */
  async #sendPatch(patch: PatchRow): Promise<void> {
    const turn = await this.#engine.getTurn(patch.turn);
    if (turn === undefined || turn.depth > this.#last.depth) return;
    const onChain = await this.#engine.ancestorAt(this.#last.id, turn.depth);
    if (onChain?.id !== turn.id) return;
    await this.#push({
      kind: 'patched',
      turn: turn.id,
      seq: BigInt(patch.seq),
      flags: patch.tombstone ? PatchFlag.TOMBSTONE : 0,
      hash: patch.tombstone ? undefined : patch.payload,
    });
  }

  async #push(push: Push): Promise<void> {
    await this.#session.pushLarge(MessageType.SUBSCRIBE, this.#reqId, () =>
      this.#over ? [] : encodePush(push),
    );
  }
}

function outcomeOf({ flags }: TurnRow): 'complete' | 'aborted' | 'interrupted' {
  if ((flags & TurnFlag.ABORTED) !== 0) return 'aborted';
  return (flags & TurnFlag.INTERRUPTED) === 0 ? 'complete' : 'interrupted';
}

export const subscribe: Plan = (engine, { payload, reqId }, session) => {
  const { after, want, ...ids } = decodeSubscribe(payload);
  const context = contextOf(ids.context);
  const subscription = new Subscription(engine, session, reqId, {
    context,
    payloads: (want & Want.PAYLOADS) !== 0,
    openTurns: (want & Want.OPEN) !== 0,
    patches: (want & Want.PATCHES) !== 0,
  });
  const run = async (): Promise<Reply> => {
    try {
      const head = await mustGetHead(engine, context);
      const position = await findPosition(engine, head, after);
      return { parts: headParts(head), sent: () => subscription.start(head, position) };
    } catch (error) {
      session.tasks.cancel(reqId);
      throw error;
    }
  };
  try {
    session.tasks.begin(reqId, subscription);
  } catch (error) {
    subscription.cancel();
    throw error;
  }
  return { order: 'read', run };
};

/** The position of the client; undefined before the root. The position must be on the chain of the head. */
async function findPosition(
  engine: Engine,
  head: HeadRow,
  after: bigint,
): Promise<{ id: TurnId; depth: number } | undefined> {
  if (after === 0n || (after === FROM_NOW && head.head === NO_TURN)) return undefined;
  if (after === FROM_NOW) return { id: head.head, depth: head.headDepth };
  const turn = await engine.getTurn(after as TurnId);
  if (turn !== undefined && (await leadsTo(engine, turn, head))) return turn;
  throw new QuipuError('HEAD_MOVED', `turn ${after} does not lead to the head ${head.head}`, {
    context: String(head.id),
    expected: String(after),
    head: String(head.head),
  });
}

function bytesOf(event: SubscriptionEvent): number {
  return EVENT_BYTES + (event.kind === 'delta' ? event.delta.bytes.length : 0);
}

import type { Server, Socket } from 'node:net';
import { QuipuError, isQuipuError } from '../../base/errors.ts';
import { encodeError } from '../../wire/error-message.ts';
import { FrameReader, encodeFrame } from '../../wire/frame.ts';
import { MessageType } from '../../wire/message-type.ts';
import type { Access } from '../access/access.ts';
import type { CallTable, Served } from '../calls/call-handler.ts';
import { ByteBudget, ReplyRoom } from '../memory/byte-budget.ts';
import { DEFAULT_LIMITS, toWireError } from '../request/request.ts';
import type { BinaryLimits, MessageTable, BinaryHooks } from '../request/request.ts';
import { Connection } from './connection.ts';
import { addressOf, createListener, listenAt } from '../local/listen.ts';
import type { ListenAt } from '../local/listen.ts';
import { createMessages } from './request-table.ts';
import type { TurnId } from '../../base/brand.ts';
import { isOpen } from '../../context/turns/read-turns.ts';
import type { Change } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';

export interface BinaryServerOptions {
  readonly served: Served;
  readonly calls: CallTable;
  /** Every limit has a default. */
  readonly limits?: Partial<BinaryLimits>;
  /** Default: a budget of the server's own, of `limits.totalBytes`. */
  readonly budget?: ByteBudget;
  readonly hooks?: BinaryHooks;
  /** Gives a number above 0, new for each connection. Default: a counter that starts at 1. */
  readonly nextSessionId?: () => bigint;
  /** The server seals an open turn that nobody has written to for this long. Default 5 minutes; Infinity: never. */
  readonly openTurnLeaseMs?: number;
}

export interface Listening {
  /** Host and port, or the path. */
  readonly address: string;
  /** The TCP port; undefined for a Unix socket. */
  readonly port: number | undefined;
  /**
   * Accepts no more connections, answers the requests that were read, and ends. Cuts off every client that is still
   * connected after `graceMs`. Resolves when the last connection of this listener has closed.
   */
  close(graceMs: number): Promise<void>;
}

const LEASE_MS = 300_000;
/** At most this many connections over the limit are told so at a time; further ones are cut off at once. */
const REFUSED_MAX = 256;

/** Serves the binary protocol on any number of listeners over one store. */
export class BinaryServer {
  readonly #options: BinaryServerOptions;
  readonly #limits: BinaryLimits;
  readonly #messages: MessageTable;
  readonly #budget: ByteBudget;
  readonly #room: ReplyRoom;
  readonly #leases: OpenTurnLeases | undefined;
  readonly #listening = new Set<Listening>();
  #sessions = 0n;
  #connections = 0;
  #refused = 0;

  constructor(options: BinaryServerOptions) {
    const { served, calls, limits, openTurnLeaseMs: leaseMs = LEASE_MS } = options;
    this.#options = options;
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
    this.#messages = createMessages(served.engine, calls);
    this.#budget = options.budget ?? new ByteBudget(this.#limits.totalBytes);
    this.#room = new ReplyRoom(this.#budget);
    if (leaseMs === Infinity) return;
    const session = { id: 0n, remote: '', identity: undefined, tag: '' };
    const failed = (error: unknown): void => options.hooks?.failed?.(error, session);
    this.#leases = new OpenTurnLeases(served.engine, { leaseMs, failed });
  }

  /** The number of open connections. */
  get connections(): number {
    return this.#connections;
  }

  /** Throws the operating system's error when the server cannot listen there. */
  async listen(at: ListenAt, access: Access): Promise<Listening> {
    const accepted = newAccepted();
    const server = createListener(at, (socket) => this.#take(socket, access, accepted));
    server.on('connection', (socket) => keepWhileOpen(accepted.sockets, socket, socket));
    server.maxConnections = this.#limits.connections + REFUSED_MAX;
    await listenAt(server, at);
    return this.#listeningOn(server, accepted);
  }

  /** Takes over every new connection of a server that already listens. */
  attach(server: Server, access: Access): Listening {
    const accepted = newAccepted();
    server.on('connection', (socket) => {
      keepWhileOpen(accepted.sockets, socket, socket);
      this.#take(socket, access, accepted);
    });
    server.maxConnections = this.#limits.connections + REFUSED_MAX;
    return this.#listeningOn(server, accepted);
  }

  /** Closes every listener. The store stays open. */
  async close(graceMs: number): Promise<void> {
    await Promise.all([...this.#listening].map((listening) => listening.close(graceMs)));
    await this.#leases?.close();
  }

  #listeningOn(server: Server, accepted: Accepted): Listening {
    const bound = server.address();
    let closing: Promise<void> | undefined;
    const listening: Listening = {
      address: addressOf(server),
      port: typeof bound === 'object' ? bound?.port : undefined,
      close: (graceMs) => {
        this.#listening.delete(listening);
        closing ??= closeListener(server, accepted, graceMs);
        return closing;
      },
    };
    this.#listening.add(listening);
    return listening;
  }

  #take(socket: Socket, access: Access, { connections }: Accepted): void {
    const connection = this.#accept(socket, access);
    if (connection !== undefined) keepWhileOpen(connections, connection, socket);
  }

  #accept(socket: Socket, access: Access): Connection | undefined {
    const { hooks = {}, nextSessionId } = this.#options;
    if (this.#connections >= this.#limits.connections) {
      hooks.refused?.();
      this.#refuse(socket);
      return undefined;
    }
    this.#connections += 1;
    this.#sessions += 1n;
    socket.once('close', () => {
      this.#connections -= 1;
    });
    return new Connection(socket, {
      messages: this.#messages,
      access,
      limits: this.#limits,
      hooks,
      sessionId: nextSessionId?.() ?? this.#sessions,
      budget: this.#budget,
      room: this.#room,
    });
  }

  #refuse(socket: Socket): void {
    if (this.#refused >= REFUSED_MAX) {
      socket.destroy();
      return;
    }
    this.#refused += 1;
    socket.once('close', () => {
      this.#refused -= 1;
    });
    refuseConnection(socket, this.#limits.connections, this.#limits.discardMs);
  }
}

interface Accepted {
  readonly connections: Set<Connection>;
  /** All sockets, also those that are no connection yet: during a TLS handshake, or while they are refused. */
  readonly sockets: Set<Socket>;
}

function newAccepted(): Accepted {
  return { connections: new Set(), sockets: new Set() };
}

function keepWhileOpen<T>(all: Set<T>, one: T, socket: Socket): void {
  all.add(one);
  socket.once('close', () => all.delete(one));
}

async function closeListener(server: Server, accepted: Accepted, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  for (const connection of accepted.connections) connection.drain();
  const timer = setTimeout(() => {
    for (const socket of accepted.sockets) socket.destroy();
  }, graceMs);
  await closed;
  clearTimeout(timer);
}

/** Tells the peer, in reply to its first message, that the server has no place for it, and closes the connection. */
function refuseConnection(socket: Socket, limit: number, discardMs: number): void {
  const reader = new FrameReader(0);
  let isTold = false;
  const timer = setTimeout(() => socket.destroy(), discardMs).unref();
  socket.on('close', () => clearTimeout(timer));
  // The peer may go first; `close` follows.
  socket.on('error', () => undefined);
  socket.on('end', () => socket.end());
  socket.on('data', (chunk: Buffer) => {
    if (isTold) return;
    reader.push(chunk);
    const first = reader.next();
    if (first === undefined) return;
    isTold = true;
    const message = `the server has its ${limit} connections; try again later`;
    const error = new QuipuError('UNAVAILABLE', message, { what: 'server' });
    const parts = encodeError(toWireError(error, false));
    socket.end(encodeFrame(MessageType.ERROR, 0, first.reqId, ...parts));
  });
}

// Leases of open turns. An open turn locks its context, so the server seals a turn that nobody writes to any more. The
// turn is sealed as interrupted, with every acknowledged byte. Losing a connection alone seals nothing: the writer may
// come back.

export interface LeaseOptions {
  readonly leaseMs: number;
  /** Called with errors that no client waits for. */
  readonly failed: (error: unknown) => void;
  readonly now?: () => number;
}

export class OpenTurnLeases {
  readonly #engine: Engine;
  readonly #options: LeaseOptions;
  readonly #now: () => number;
  readonly #writtenAt = new Map<TurnId, number>();
  readonly #stopListening: () => void;
  readonly #timer: NodeJS.Timeout;
  #looking: Promise<void> = Promise.resolve();

  constructor(engine: Engine, options: LeaseOptions) {
    this.#engine = engine;
    this.#options = options;
    this.#now = options.now ?? performance.now.bind(performance);
    this.#stopListening = engine.subscribe((change) => this.#note(change));
    const everyMs = Math.max(10, Math.min(30_000, options.leaseMs / 4));
    this.#timer = setInterval(() => void this.sealIdle(), everyMs).unref();
    this.#looking = this.#findOpen().catch(options.failed);
  }

  /** Resolves when no seal is in progress. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopListening();
    await this.#looking;
  }

  /** Seals the turns that have waited for longer than the lease. */
  sealIdle(): Promise<void> {
    this.#looking = this.#looking.then(() => this.#sealIdle());
    return this.#looking;
  }

  /** Finds the turns that were open before the server listened. */
  async #findOpen(): Promise<void> {
    const { open } = await this.#engine.tips();
    for (const turn of open) {
      if (!this.#writtenAt.has(turn)) this.#writtenAt.set(turn, this.#now());
    }
  }

  #note(change: Change): void {
    for (const { id } of change.opened) this.#writtenAt.set(id, this.#now());
    for (const { turn } of change.deltas) this.#writtenAt.set(turn, this.#now());
    for (const { id } of change.sealed) this.#writtenAt.delete(id);
  }

  async #sealIdle(): Promise<void> {
    const idleSince = this.#now() - this.#options.leaseMs;
    for (const [turn, writtenAt] of this.#writtenAt) {
      if (writtenAt > idleSince) continue;
      try {
        await this.#seal(turn);
      } catch (error) {
        // If a client wrote to the turn at the last moment, the turn is not idle. After other errors the seal is tried
        // again.
        if (!isQuipuError(error, 'HEAD_MOVED')) this.#options.failed(error);
      }
    }
  }

  async #seal(turn: TurnId): Promise<void> {
    const row = await this.#engine.getTurn(turn);
    if (row === undefined || !isOpen(row)) {
      this.#writtenAt.delete(turn);
      return;
    }
    const seal = { turn, outcome: 'interrupted', expectedBytes: row.size } as const;
    await this.#engine.commit({ seals: [seal] });
  }
}

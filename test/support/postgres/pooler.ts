import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Client } from 'pg';
import { WireMessages, errorMessage, message, textAt } from './wire-messages.ts';

// A connection pooler as far as a client can tell, for machines that have none: it answers the greeting itself, and
// lends a connection to the server to whoever has something to ask. Between two transactions of a client it always
// lends another one, which a real pooler does now and then.

export interface PoolerOptions {
  /** When a client gives its connection back. Default after each transaction. */
  readonly lends?: 'transaction' | 'session';
  /** Parameters of the greeting that are passed over in silence; those it does not know are refused. */
  readonly ignores?: readonly string[];
  /** Whether a statement that was prepared on one connection is there on all. Default true. */
  readonly keepsStatements?: boolean;
}

/** What poolers pass on, or may forget without harm. */
const KNOWN = new Set(['user', 'database', 'client_encoding', 'application_name']);
const CONNECTIONS = 3;
const SSL_REQUEST = 80877103;

interface Lent {
  readonly client: Client;
  readonly socket: Socket;
  readonly statements: Set<string>;
  reader: WireMessages;
  /** Of each question on its way: which of its answers the client did not ask for, in their order. */
  asked: boolean[][];
  borrower: Borrower | undefined;
}

interface Borrower {
  readonly socket: Socket;
  readonly statements: Map<string, Buffer>;
  lent: Lent | undefined;
  last: Lent | undefined;
  /** What came while all connections were lent. */
  queued: Buffer[];
}

export class Pooler {
  readonly #server: Server = createServer((socket) => this.#accept(socket));
  readonly #options: Required<PoolerOptions>;
  readonly #lent: Lent[] = [];
  readonly #borrowers = new Set<Borrower>();
  #target: string;

  private constructor(target: string, options: PoolerOptions) {
    this.#target = target;
    this.#options = { lends: 'transaction', ignores: [], keepsStatements: true, ...options };
  }

  static async start(target: string, options: PoolerOptions = {}): Promise<Pooler> {
    const pooler = new Pooler(target, options);
    const count = pooler.#options.lends === 'session' ? 0 : CONNECTIONS;
    for (let nth = 0; nth < count; nth += 1) await pooler.#connect();
    pooler.#server.listen(0, '127.0.0.1');
    await once(pooler.#server, 'listening');
    return pooler;
  }

  /** The database by way of this. */
  get url(): string {
    const url = new URL(this.#target);
    url.port = String((this.#server.address() as AddressInfo).port);
    return url.href;
  }

  /** From now on it leads to another database, as after a change of its settings. Clients stay. */
  async pointTo(target: string): Promise<void> {
    this.#target = target;
    if (this.#options.lends === 'session') return;
    for (const { client } of this.#lent.splice(0)) await client.end();
    for (let nth = 0; nth < CONNECTIONS; nth += 1) await this.#connect();
  }

  async close(): Promise<void> {
    for (const { socket } of this.#borrowers) socket.destroy();
    for (const { client } of this.#lent) await client.end();
    this.#server.close();
    await once(this.#server, 'close');
  }

  /** A client of the package logs in; from then on its socket is ours. */
  async #connect(): Promise<Lent> {
    const client = new Client({ connectionString: this.#target });
    client.on('error', () => undefined);
    await client.connect();
    const { stream: socket } = (client as unknown as { connection: { stream: Socket } }).connection;
    socket.removeAllListeners('data');
    const lent: Lent = {
      client,
      socket,
      statements: new Set(),
      reader: new WireMessages(),
      asked: [[]],
      borrower: undefined,
    };
    socket.on('data', (bytes: Buffer) => this.#answer(lent, bytes));
    socket.on('close', () => {
      // The server ended it: so does the pooler for whoever had it, and makes another one.
      lent.borrower?.socket.destroy();
      const at = this.#lent.indexOf(lent);
      if (at === -1) return;
      this.#lent.splice(at, 1);
      if (this.#server.listening)
        void this.#connect().then(
          () => this.#lendOut(),
          () => undefined,
        );
    });
    this.#lent.push(lent);
    return lent;
  }

  #accept(socket: Socket): void {
    const borrower: Borrower = {
      socket,
      statements: new Map(),
      lent: undefined,
      last: undefined,
      queued: [],
    };
    this.#borrowers.add(borrower);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#borrowers.delete(borrower);
      // In the middle of a transaction: the server is told by the end of its connection.
      borrower.lent?.socket.destroy();
    });
    const reader = new WireMessages('greeting');
    socket.on('data', (bytes: Buffer) => {
      for (const each of reader.read(bytes)) {
        if (each.type !== '') this.#ask(borrower, each.type, each.bytes);
        else if (each.bytes.readInt32BE(4) === SSL_REQUEST) socket.write('N');
        else {
          reader.greeted();
          void this.#greet(borrower, each.bytes);
        }
      }
    });
  }

  async #greet(borrower: Borrower, greeting: Buffer): Promise<void> {
    const words = greeting.subarray(8).toString().split('\0');
    const names = words.filter((_, at) => at % 2 === 0 && words[at] !== '');
    const strange = names.find((name) => !KNOWN.has(name) && !this.#options.ignores.includes(name));
    const { socket } = borrower;
    if (strange !== undefined) {
      socket.end(errorMessage('08P01', `unsupported startup parameter: ${strange}`));
      return;
    }
    const ready = [message('R', Buffer.alloc(4)), message('K', Buffer.alloc(8, 7))];
    for (const [name, value] of [
      ['server_version', '18'],
      ['client_encoding', 'UTF8'],
      ['standard_conforming_strings', 'on'],
    ]) {
      ready.push(message('S', Buffer.from(`${name}\0${value}\0`)));
    }
    if (this.#options.lends === 'session') {
      borrower.lent = await this.#connect();
      borrower.lent.borrower = borrower;
    }
    socket.write(Buffer.concat([...ready, message('Z', Buffer.from('I'))]));
  }

  #ask(borrower: Borrower, type: string, bytes: Buffer): void {
    if (type === 'X') {
      borrower.socket.end();
      return;
    }
    borrower.queued.push(bytes);
    this.#lendOut();
  }

  #lendOut(): void {
    for (const borrower of this.#borrowers) {
      if (borrower.queued.length === 0) continue;
      borrower.lent ??= this.#findFree(borrower);
      if (borrower.lent === undefined) continue;
      borrower.lent.borrower = borrower;
      for (const bytes of borrower.queued.splice(0)) this.#pass(borrower, borrower.lent, bytes);
    }
  }

  #findFree({ last }: Borrower): Lent | undefined {
    const free = this.#lent.filter((lent) => lent.borrower === undefined);
    return free.find((lent) => lent !== last) ?? (this.#lent.length === 1 ? free[0] : undefined);
  }

  #pass(borrower: Borrower, lent: Lent, bytes: Buffer): void {
    const type = String.fromCharCode(bytes[0] ?? 0);
    const hides = lent.asked.at(-1) ?? [];
    if (type === 'Q' || type === 'S') lent.asked.push([]);
    if (!this.#options.keepsStatements || this.#options.lends === 'session') {
      lent.socket.write(bytes);
      return;
    }
    // Statements are known to the server by their text, and prepared wherever they are missing.
    if (type === 'P') {
      const name = textAt(bytes, 5);
      if (name !== '') borrower.statements.set(name, bytes.subarray(6 + name.length));
      const parsed = borrower.statements.get(name);
      if (parsed !== undefined) return prepare(lent, parsed, hides, false);
      hides.push(false);
      lent.socket.write(bytes);
    } else if (type === 'B') {
      const portal = textAt(bytes, 5);
      const at = 6 + portal.length;
      const name = textAt(bytes, at);
      const parsed = borrower.statements.get(name);
      if (parsed !== undefined && !lent.statements.has(nameOf(parsed)))
        prepare(lent, parsed, hides, true);
      const renamed = parsed === undefined ? name : nameOf(parsed);
      const rest = bytes.subarray(at + name.length + 1);
      lent.socket.write(message('B', Buffer.concat([zero(portal), zero(renamed), rest])));
    } else lent.socket.write(bytes);
  }

  #answer(lent: Lent, bytes: Buffer): void {
    const { borrower } = lent;
    for (const each of lent.reader.read(bytes)) {
      if (each.type === '1' || each.type === '3') {
        if (lent.asked[0]?.shift() === true) continue;
      }
      if (each.type === 'E') lent.statements.clear();
      borrower?.socket.write(each.bytes);
      if (each.type !== 'Z') continue;
      lent.asked.shift();
      const isIdle = each.bytes[5] === 'I'.charCodeAt(0);
      if (
        !isIdle ||
        lent.asked.length > 1 ||
        borrower === undefined ||
        this.#options.lends === 'session'
      )
        continue;
      borrower.last = lent;
      borrower.lent = undefined;
      lent.borrower = undefined;
    }
    this.#lendOut();
  }
}

/** Closed first, so that it may be there or not. */
function prepare(lent: Lent, parsed: Buffer, hides: boolean[], hidden: boolean): void {
  const name = nameOf(parsed);
  lent.statements.add(name);
  hides.push(true, hidden);
  lent.socket.write(message('C', Buffer.concat([Buffer.from('S'), zero(name)])));
  lent.socket.write(message('P', Buffer.concat([zero(name), parsed])));
}

function zero(text: string): Buffer {
  return Buffer.from(`${text}\0`);
}

function nameOf(parsed: Buffer): string {
  return `pooled_${createHash('sha256').update(parsed).digest('hex').slice(0, 16)}`;
}

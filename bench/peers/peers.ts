import type { DriverName } from '../drivers/driver.ts';

/** A store as somebody uses it who wants no turn to be lost. */
export interface Peer {
  readonly driver: DriverName;
  readonly title: string;
  /** Quipu used in the same way; undefined for Quipu itself. */
  readonly against?: DriverName;
  /** Whether an acknowledged turn is still there after a power cut: whether something was synced before. */
  readonly survives: boolean;
  /** A fork copies what was said before. */
  readonly copies?: boolean;
  /** What the programmer chose, for the method. */
  readonly use: string;
}

/** In groups: each begins with Quipu. */
export const PEERS: readonly Peer[] = [
  {
    driver: 'quipu',
    title: '**Quipu**, a folder',
    survives: true,
    use: '`openStore(folder)`, contexts, as it comes.',
  },
  {
    driver: 'sqlite',
    title: 'SQLite, tables by hand',
    against: 'quipu',
    survives: true,
    use: '`better-sqlite3`, WAL, `synchronous=FULL`. A turn names its parent, and a read follows the parents.',
  },
  {
    driver: 'json-lines',
    title: 'JSON Lines',
    against: 'quipu',
    survives: true,
    copies: true,
    use:
      'A file for each thread and `fdatasync` for each line; the folder itself is not synced. The writer keeps in ' +
      'memory where each line begins.',
  },
  {
    driver: 'quipu-saver',
    title: '**Quipu** for LangGraph, a folder',
    survives: true,
    use: '`QuipuSaver` on `openStore(folder)`, as it comes.',
  },
  {
    driver: 'sqlite-saver',
    title: "LangGraph's SQLite saver, as it comes",
    against: 'quipu-saver',
    survives: false,
    use:
      '`SqliteSaver` on a file. It asks for WAL, and `better-sqlite3` then syncs only now and then ' +
      '(`synchronous=NORMAL`).',
  },
  {
    driver: 'sqlite-saver-full',
    title: "LangGraph's SQLite saver, `synchronous=FULL`",
    against: 'quipu-saver',
    survives: true,
    use: 'The same with `synchronous=FULL`, which the caller sets on the connection.',
  },
  {
    driver: 'quipu-postgres-saver',
    title: '**Quipu** for LangGraph, PostgreSQL',
    survives: true,
    use: "`QuipuSaver` on `openStore('postgres://…')`, as it comes.",
  },
  {
    driver: 'postgres-saver',
    title: "LangGraph's PostgreSQL saver",
    against: 'quipu-postgres-saver',
    survives: true,
    copies: true,
    use:
      '`PostgresSaver`, as it comes. It stores the value of a channel once per thread and version number. Two forks of ' +
      'one checkpoint have the same number, so a fork is a new thread with a copy of the state.',
  },
  {
    driver: 'quipu-streams',
    title: '**Quipu** as a server of Durable Streams',
    survives: true,
    use: '`quipu serve`, JSON streams over HTTP.',
  },
  {
    driver: 'streams-server',
    title: "Durable Streams' server",
    against: 'quipu-streams',
    survives: true,
    use:
      '`DurableStreamTestServer` with `dataDir`, JSON streams over HTTP. It syncs the messages. The list of streams ' +
      'is in LMDB, as the server opens it. Its README names it a reference implementation for development.',
  },
];

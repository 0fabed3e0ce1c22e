// The contract of a source: a program or a file format whose history can be imported. A source is one file with one
// value of this type. It says where the history lies, which files hold sessions, and what each record means. The core
// does the rest: it splits lines, moves pictures to blobs, links turns, finds forks, writes, and remembers how far it
// came. A source writes nothing, and trusts no path that it finds in a record.

/** The names of the environment that homes are found by. */
export interface Machine {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
}

export interface Source {
  /** Part of the types of turns, such as `import.claude-code.message`. Lower case letters, digits and hyphens. */
  readonly name: string;
  /** For people. */
  readonly title: string;
  /** The folders in which the program keeps its history, whether they exist or not. */
  homes(machine: Machine): readonly string[];
  /** Yields the files of sessions at a place: a home, or a file. Parents come before their subagents. */
  discover(place: string): AsyncIterable<SourceFile>;
  /** True for a value that can be a record of this source. It decides what is saved of a line that was torn. */
  isRecord(value: object): boolean;
  /** Begins to read a file, or goes on from `state`, which an earlier reader has saved. */
  read(file: SourceFile, state: unknown): RecordReader;
  /** The content of a record for people and for other programs. */
  show(record: unknown): readonly Block[];
  /** Ends what `discover` has opened. */
  close?(): Promise<void>;
  /** True if ids are the same in a copy of a session, and in no other session. */
  readonly idsAreGlobal?: true;
}

/** One file of a session, or one part of a database. */
export interface SourceFile {
  /** The real path; several parts of one database have a name behind `#`. */
  readonly path: string;
  /** The id of the session, without control characters. */
  readonly session: string;
  /** `lines`: JSON Lines. `list`: one JSON array; its items are the records. `whole`: one JSON value. */
  readonly form: 'lines' | 'list' | 'whole';
  readonly packed?: 'zstd' | 'gzip';
  readonly size: number;
  readonly modifiedMs: number;
  /** The details that are known without reading the session. */
  readonly details?: SessionDetails;
  /** Folders of this session. A file that a record names is read only in there. */
  readonly folders?: readonly string[];
  /** The folder with blobs that records refer to, by their SHA-256. */
  readonly blobFolder?: string;
  /** The records, for a source that does not read a file by lines. */
  readonly records?: () => AsyncIterable<object>;
}

interface ParentLink {
  readonly session: string;
  /** The id of the tool call that started it, and its own as a result names it. */
  readonly call?: string;
  readonly agent?: string;
}

/** One JSON value of a file. */
export interface SourceRecord {
  readonly value: Readonly<Record<string, unknown>>;
  /** The text as it was found. */
  readonly raw: string;
  /** Where it begins in the file. */
  readonly offset: number;
}

/** Decides what each record means. Pure: it gets records in the order of the file, and nothing else. */
export interface RecordReader {
  take(record: SourceRecord): readonly Taken[];
  /** The file has ended: gives what was held back. */
  end?(): readonly Taken[];
  /** The offset of the first record that is held back; undefined if none is. */
  readonly heldFrom?: number | undefined;
  /** The state that another reader needs to go on from here, or from `heldFrom`. A JSON value. */
  save?(): unknown;
}

/**
 * The outcome of a record. `session` is that of the file if it is not given. A name that begins with `/` is of a subagent
 * whose records are in the same file, and stands below the session of the file.
 */
export type Taken = TakenTurn | TakenAside | TakenDetails;

/** A record by its name in the session. */
interface Named {
  /** The id of the record. A record without one is named by its text, and by how often that came so far. */
  readonly id?: string | undefined;
  /** The text that names it, if not all of it does: a time, for one, may change when a file is written anew. */
  readonly text?: string;
  readonly raw: string;
}

export interface TakenPart extends Named {
  readonly value: unknown;
}

export interface TakenTurn {
  readonly do: 'turn';
  readonly session?: string;
  readonly what: 'message' | 'marker' | 'event';
  /** The records of the turn: one, or those that together are one message. */
  readonly parts: readonly TakenPart[];
  /** The turn before it: the id of a record; null: none; undefined: the turn before it in the file. */
  readonly parent?: string | null | undefined;
  /** More ids by which records of this session refer to the turn. */
  readonly ids?: readonly string[];
  /** An id for the turn before it in the file, so that a later record can go back there. */
  readonly before?: string;
  /** Ids by which a copy of the turn in another session is known, even if its own ids are new. */
  readonly alike?: readonly string[];
  /** Two turns with one parent and one twin are the same. */
  readonly twin?: string;
  readonly head: TurnHead;
  /** JSON pointers to values that become blobs whatever their size. */
  readonly heavy?: readonly string[];
  /** Files beside the session with texts that a record has only the beginning of, by JSON pointer. */
  readonly files?: Readonly<Record<string, string>>;
}

/** The facts about a turn beside its records. */
export interface TurnHead {
  /** Unix time in milliseconds. */
  readonly at?: number;
  readonly role?: 'user' | 'assistant' | 'tool' | 'system';
  readonly model?: string;
  readonly usage?: Usage;
  /** `meta`: nobody typed it. `truncated`: the source has only a part. `interrupted`: it was not completed. */
  readonly flags?: readonly ('meta' | 'truncated' | 'interrupted')[];
  /** The event that a marker marks, such as `compaction` or `rollback`. */
  readonly kind?: string;
  readonly summary?: string;
}

/** Tokens as the record states them. */
export interface Usage {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

/** A record that is kept beside the turns. */
export interface TakenAside extends Named {
  readonly do: 'aside';
  readonly session?: string;
  /** Records that have this one as their parent follow its parent instead. */
  readonly parent?: string | null | undefined;
  /** Tokens that no turn states. */
  readonly head?: Pick<TurnHead, 'usage' | 'at' | 'model'>;
}

interface TakenDetails {
  readonly do: 'details';
  readonly session?: string;
  readonly details: SessionDetails;
}

/** The facts known of a session. A later value replaces an earlier one. */
export interface SessionDetails {
  readonly title?: Title;
  readonly cwd?: string;
  readonly branch?: string;
  readonly model?: string;
  readonly version?: string;
  readonly startedAt?: number;
  readonly parent?: ParentLink;
  /** The session begins as a copy of another one, or after a record of it. */
  readonly copyOf?: { readonly session: string; readonly at?: string };
  /** More for the metadata of the context. */
  readonly more?: Readonly<Record<string, unknown>>;
}

/** A title of a lower rank does not replace one of a higher rank. */
interface Title {
  readonly text: string;
  readonly from: 'user' | 'generated' | 'summary' | 'text';
}

/** A piece of a message, the same for all sources. */
export type Block =
  | { readonly is: 'text'; readonly text: string }
  | { readonly is: 'thinking'; readonly text: string }
  | { readonly is: 'call'; readonly id: string; readonly name: string; readonly input: unknown }
  | {
      readonly is: 'result';
      readonly id: string;
      readonly text: string;
      readonly failed: boolean;
      readonly images: readonly ImageBlock[];
    }
  | ImageBlock;

export interface ImageBlock {
  readonly is: 'image';
  readonly mime: string;
  /** Base64. */
  readonly data: string;
}

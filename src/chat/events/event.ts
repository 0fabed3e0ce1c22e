// The parts of a chat: events, one JSON object a line. A line is never changed, unless its text is erased on purpose.
// Projections give the lines their meaning.

/** The version of the envelope and of the payloads that are written. */
export const SCHEMA_VERSION = 1;

export interface JsonObject {
  readonly [name: string]: unknown;
}

/** An event as it stands in the log, names included. */
export interface ChatEvent {
  readonly schema_version: number;
  /** From 1, without gaps: the number of the line. */
  readonly seq: number;
  /** A ULID. */
  readonly event_id: string;
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly type: string;
  readonly payload: JsonObject;
}

export interface NewEvent {
  readonly type: string;
  readonly payload: JsonObject;
  /** The version of the payload; default 1. */
  readonly schemaVersion?: number;
}

/** Stands in a payload for all of it, when that is too long for a line. */
export interface PayloadRef {
  /** BLAKE3 of the JSON text of the payload. */
  readonly hash: string;
  /** Bytes of that text. */
  readonly size: number;
}

/** Something in the log that cannot be accepted as it stands. The line itself is kept. */
export interface ChatProblem {
  /** The line, from 1; 0 when the problem concerns the chat as a whole. */
  readonly seq: number;
  readonly kind:
    | 'unreadable'
    | 'not-an-event'
    | 'sequence'
    | 'unknown-type'
    | 'newer-version'
    | 'payload'
    | 'unknown-message'
    | 'clarification'
    | 'metadata';
  readonly message: string;
  /** The type that is not known here, unless a program has registered it. */
  readonly type?: string;
}

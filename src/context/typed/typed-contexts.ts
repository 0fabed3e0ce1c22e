import type { ContextIdLike, TurnIdLike } from '../../base/brand.ts';
import { QuipuError, invalid, messageOf } from '../../base/errors.ts';
import { type Jsonable, jsonable } from '../../base/jsonable.ts';
import { kindOf } from '../../base/text.ts';
import type {
  AppendOptions,
  BatchTurn,
  Contexts,
  FollowOptions,
  NewTurn,
  Patch,
  PatchOptions,
  ReadOptions,
  TurnPage,
} from '../contexts.ts';
import { findCodec } from '../payloads/codecs.ts';
import { toJsonValue, type Turn } from '../turn.ts';

// Contexts whose payloads have types. The payload of a turn is checked by the schema of its type before it is stored,
// and stored as it was given. Types without a schema are stored and read as ever, as `unknown`.

/** Schemas by the type of turns, such as `{ 'chat.message': z.object({ role: z.string() }) }`. */
export type Schemas = Readonly<Record<string, StandardSchema>>;

type TypesOf<S extends StandardSchema> = NonNullable<S['~standard']['types']>;
type InputOf<S extends StandardSchema> = TypesOf<S>['input'];

/**
 * Stands for every type without a schema. For the compiler it is one text, so that a comparison with the type of a
 * schema tells the two apart. When the program runs it is the turn's own type: to compare it, write `String(turn.type)`.
 */
export type OtherType = '(a type without a schema)';

/** With `checkReads` a read gives what the schema makes of the payload; without, the payload as it was stored. */
type PayloadOf<S extends StandardSchema, Checked extends boolean> = TypesOf<S>[Checked extends true
  ? 'output'
  : 'input'];

export type TypedTurn<S extends Schemas, Checked extends boolean = false> =
  | {
      [Type in keyof S & string]: Omit<Turn, 'type' | 'payload'> & {
        readonly type: Type;
        /** Undefined for a tombstone and when the read was made without payloads. */
        readonly payload: PayloadOf<S[Type], Checked> | undefined;
      };
    }[keyof S & string]
  | (Omit<Turn, 'type' | 'payload'> & { readonly type: OtherType; readonly payload: unknown });

/** A turn of a type with a schema has a payload that fits it. */
export type TypedNewTurn<S extends Schemas, Type extends string> = Omit<
  NewTurn,
  'type' | 'payload'
> & {
  readonly type: Type;
  readonly payload: Type extends keyof S ? InputOf<S[Type]> : unknown;
};

export interface TypedOptions<Checked extends boolean = boolean> {
  /** Also check payloads when they are read: one that does not fit is INVALID. Default false. */
  readonly checkReads?: Checked;
}

type OwnKey = Pick<BatchTurn, 'idempotencyKey'>;

interface TypedVerbs<S extends Schemas, Checked extends boolean> {
  append<Type extends string>(
    id: ContextIdLike,
    turn: TypedNewTurn<S, Type>,
    options?: AppendOptions,
  ): Promise<TypedTurn<S, Checked>>;
  appendBatch<const Types extends readonly string[]>(
    id: ContextIdLike,
    turns: { readonly [At in keyof Types]: TypedNewTurn<S, Types[At]> & OwnKey },
    options?: AppendOptions,
  ): Promise<TypedTurn<S, Checked>[]>;
  /** Checks the payload by the schema of the turn's type. */
  patch(turn: TurnIdLike, payload: unknown, options?: PatchOptions): Promise<Patch>;
  last(id: ContextIdLike, n?: number, options?: ReadOptions): Promise<TypedPage<S, Checked>>;
  before(
    id: ContextIdLike,
    turn: TurnIdLike,
    n?: number,
    options?: ReadOptions,
  ): Promise<TypedPage<S, Checked>>;
  range(
    id: ContextIdLike,
    fromDepth: number,
    toDepth: number,
    options?: ReadOptions,
  ): Promise<TypedPage<S, Checked>>;
  turn(turn: TurnIdLike, options?: ReadOptions): Promise<TypedTurn<S, Checked> | undefined>;
  chain(turn: TurnIdLike, options?: ReadOptions): AsyncIterable<TypedTurn<S, Checked>>;
  follow(id: ContextIdLike, options?: FollowOptions): AsyncIterable<TypedTurn<S, Checked>>;
}

export type TypedPage<S extends Schemas, Checked extends boolean = false> = Jsonable<
  Omit<TurnPage, 'turns'> & { readonly turns: readonly TypedTurn<S, Checked>[] }
>;

/** The verbs of contexts, with payloads typed by the types of turns. */
export type TypedContexts<S extends Schemas, Checked extends boolean = false> = Omit<
  Contexts,
  keyof TypedVerbs<S, Checked>
> &
  TypedVerbs<S, Checked>;

export function typedContexts<S extends Schemas, Checked extends boolean>(
  contexts: Contexts,
  schemas: S,
  { checkReads = false as Checked }: TypedOptions<Checked> = {},
): TypedContexts<S, Checked> {
  checkSchemas(schemas);
  const known: Schemas = schemas;
  const schemaOf = (type: string): StandardSchema | undefined =>
    Object.hasOwn(known, type) ? known[type] : undefined;

  /** Throws INVALID for a payload that does not fit. Bytes are decoded for it. */
  async function checkNew(turn: NewTurn, where = ''): Promise<void> {
    const schema = schemaOf(turn.type);
    if (schema === undefined) return;
    const what = `${where}payload of '${turn.type}'`;
    await validate(schema, valueOf(turn, what), what);
  }

  async function read(turn: Turn): Promise<Turn> {
    const schema = schemaOf(turn.type);
    if (!checkReads || schema === undefined || turn.payload === undefined) return turn;
    const payload = await validate(schema, turn.payload, `payload of turn ${turn.id}`);
    return withPayload(turn, payload);
  }

  async function readPage(page: Jsonable<TurnPage>): Promise<Jsonable<TurnPage>> {
    if (!checkReads) return page;
    const turns: Turn[] = [];
    for (const turn of page.turns) turns.push(await read(turn));
    return jsonable({ ...page, turns });
  }

  async function* readAll(turns: AsyncIterable<Turn>): AsyncGenerator<Turn, void, undefined> {
    for await (const turn of turns) yield await read(turn);
  }

  const verbs: Pick<Contexts, keyof TypedVerbs<S, Checked>> = {
    async append(id, turn, options) {
      await checkNew(turn);
      return contexts.append(id, turn, options);
    },
    async appendBatch(id, turns, options) {
      for (const [at, turn] of turns.entries()) await checkNew(turn, `turns[${at}].`);
      return contexts.appendBatch(id, turns, options);
    },
    async patch(id, payload, options) {
      const turn = await contexts.turn(id, { payload: false });
      if (turn !== undefined) await checkNew({ ...options, type: turn.type, payload });
      return contexts.patch(id, payload, options);
    },
    last: async (id, n, options) => readPage(await contexts.last(id, n, options)),
    before: async (id, turn, n, options) => readPage(await contexts.before(id, turn, n, options)),
    range: async (id, from, to, options) => readPage(await contexts.range(id, from, to, options)),
    async turn(id, options) {
      const turn = await contexts.turn(id, options);
      return turn && read(turn);
    },
    chain: (turn, options) => readAll(contexts.chain(turn, options)),
    follow: (id, options) => readAll(contexts.follow(id, options)),
  };
  // The types of payloads are claims that the checks above make true.
  return { ...contexts, ...verbs } as unknown as TypedContexts<S, Checked>;
}

function checkSchemas(schemas: unknown): void {
  if (typeof schemas !== 'object' || schemas === null) {
    throw invalid('schemas', `must be an object of schemas by type, got ${kindOf(schemas)}`);
  }
  for (const [type, schema] of Object.entries(schemas)) {
    const standard = (schema as Partial<StandardSchema> | undefined)?.['~standard'];
    if (typeof standard?.validate !== 'function') {
      throw invalid(
        'schemas',
        `of '${type}' is not a Standard Schema; give a schema of Zod, Valibot or ArkType`,
      );
    }
  }
}

function valueOf({ payload, encoding = 'bytes' }: NewTurn, what: string): unknown {
  if (!(payload instanceof Uint8Array)) return payload;
  try {
    return findCodec(encoding).decode(payload);
  } catch (error) {
    const why = messageOf(error);
    throw new QuipuError('INVALID', `${what} is not in its encoding: ${why}`, { what: 'payload' });
  }
}

async function validate(schema: StandardSchema, value: unknown, what: string): Promise<unknown> {
  const result = await schema['~standard'].validate(value);
  if (result.issues === undefined) return result.value;
  const message = `${what} does not fit its schema: ${toProblem(result.issues)}`;
  throw new QuipuError('INVALID', message, { what: 'payload' });
}

/** The same turn with another payload. */
function withPayload(turn: Turn, payload: unknown): Turn {
  return Object.defineProperties({ ...turn, payload, undecodable: false } as Turn, {
    bytes: { get: () => turn.bytes },
    toJSON: { value: () => ({ ...turn.toJSON(), payload: toJsonValue(payload) }) },
  });
}

// The interface that validators share (https://standardschema.dev, version 1). Zod, Valibot and ArkType have it.

export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    /** For types alone: not there when the program runs. */
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** The first issue, as in "role: expected a string". */
function toProblem(issues: readonly SchemaIssue[]): string {
  const [issue] = issues;
  if (issue === undefined) return 'it is not as expected';
  const keys = (issue.path ?? []).map((part) => String(typeof part === 'object' ? part.key : part));
  const more = issues.length === 1 ? '' : ` (and ${issues.length - 1} more)`;
  return `${keys.length === 0 ? '' : `${keys.join('.')}: `}${issue.message}${more}`;
}

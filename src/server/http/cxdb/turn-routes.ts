import { z } from 'zod';
import { NO_TURN, toTurnId } from '../../../base/brand.ts';
import type { ContextId, TurnId } from '../../../base/brand.ts';
import { invalid, notFound } from '../../../base/errors.ts';
import { PAGE_TURNS_MAX } from '../../../context/limits.ts';
import { decodePayload } from '../../../context/payloads/codecs.ts';
import { toJsonValue } from '../../../context/turn.ts';
import { keepNewest, leadsTo } from '../../../context/turns/read-pages.ts';
import {
  mustGetHead,
  mustGetTurn,
  viewTurns,
  walkUpTo,
} from '../../../context/turns/read-turns.ts';
import type { Engine } from '../../../engine/engine.ts';
import type { HeadRow, TurnRow } from '../../../engine/rows.ts';
import { Encoding } from '../../../format/turn-record.ts';
import { toSentTurns } from '../../cxdb/pages.ts';
import type { SentTurn } from '../../cxdb/pages.ts';
import { TYPE_DESCRIPTOR, jsonReply } from '../exchange/route.ts';
import type { Reply, Route } from '../exchange/route.ts';
import { ofContext } from '../exchange/schemas.ts';
import { lenientCount, lenientFlag } from './face.ts';
import { project } from './project.ts';
import type { Registry, TypeSpec } from './type-registry.ts';
import { readRegistry } from './type-registry.ts';

/** Payload bytes of one page. The page then has fewer turns, and goes on at `next_before_turn_id`. */
const PAGE_BYTES = 16 * 1024 * 1024;
const STRING_LIMIT_MAX = 65_536;

const idText = z.string().regex(/^\d{1,16}$/, 'is a decimal id');
const turnsQuery = z.object({
  limit: lenientCount(64, PAGE_TURNS_MAX),
  before_turn_id: idText.optional(),
  turn_id: idText.optional(),
  view: z.enum(['typed', 'raw', 'both']).catch('typed'),
  type_hint_mode: z.enum(['inherit', 'latest', 'explicit']).catch('inherit'),
  as_type_id: z.string().optional(),
  as_type_version: z
    .string()
    .regex(/^\d{1,9}$/)
    .optional()
    .catch(undefined),
  include_unknown: lenientFlag(false),
  bytes_render: z.enum(['base64', 'hex', 'len_only']).catch('base64'),
  /** Absent, ids are texts and other integers are numbers, as its page expects of both. */
  u64_format: z.enum(['string', 'number']).optional().catch(undefined),
  enum_render: z.enum(['label', 'number', 'both']).catch('label'),
  time_render: z.enum(['iso', 'unix_ms']).catch('iso'),
  string_limit: z
    .string()
    .regex(/^\d{1,5}$/, `must be at most ${STRING_LIMIT_MAX}`)
    .optional(),
});
type TurnsQuery = z.output<typeof turnsQuery>;

/** On a path that is also ours, for requests in cxdb's words. */
export const turnFaces: readonly Route[] = [
  ofContext.get('/turns', {
    name: 'listCxdbTurns',
    summary: 'Turns in the words of cxdb: typed, raw, or both',
    query: turnsQuery,
    answer: { what: 'A page', json: z.looseObject({ turns: z.array(z.looseObject({})) }) },
    async run({ params: { id }, query, engine }) {
      const head = await mustGetHead(engine, id);
      const rows = await rowsOf(engine, head, query);
      const views = keepNewest(await viewTurns(engine, rows, 'latest'), PAGE_BYTES);
      const sent = await toSentTurns(engine, views, true);
      return page(id, head, sent, { query, registry: await readRegistry(engine) });
    },
  }),
];

async function rowsOf(engine: Engine, head: HeadRow, query: TurnsQuery): Promise<TurnRow[]> {
  const { limit, before_turn_id: before = '0', turn_id: exact } = query;
  if (exact !== undefined) {
    const turn = await mustFind(engine, head, exact);
    return [turn];
  }
  if (Number(before) === 0) return walkUpTo(engine, head.head, limit);
  const { parent } = await mustFind(engine, head, before);
  return walkUpTo(engine, parent, limit);
}

async function mustFind(engine: Engine, head: HeadRow, text: string): Promise<TurnRow> {
  const id: TurnId = toTurnId(text, true);
  const turn = id === NO_TURN ? undefined : await mustGetTurn(engine, id);
  if (turn !== undefined && (turn.context === head.id || (await leadsTo(engine, turn, head)))) {
    return turn;
  }
  const message = `turn ${id} is not in context ${head.id}`;
  throw notFound('turn', id, message);
}

interface How {
  readonly query: TurnsQuery;
  readonly registry: Registry;
}

function page(id: ContextId, head: HeadRow, sent: readonly SentTurn[], how: How): Reply {
  const { query, registry } = how;
  const formatId = idFormat(query);
  const turns: object[] = [];
  for (const turn of sent) {
    const spec = specOf(turn, how);
    if (spec === 'missing') throw withoutType(turn, query);
    turns.push(toJson(turn, spec, how));
  }
  const [oldest] = sent;
  const limit = query.turn_id === undefined ? query.string_limit : undefined;
  return jsonReply({
    meta: {
      context_id: formatId(id),
      head_turn_id: formatId(head.head),
      head_depth: head.headDepth,
      registry_bundle_id: registry.bundles.at(-1) ?? null,
      ...(limit !== undefined && { string_limit: Number(limit) }),
    },
    turns,
    next_before_turn_id:
      oldest === undefined || query.turn_id !== undefined ? null : formatId(oldest.rec.id),
  });
}

function idFormat({ u64_format: format }: TurnsQuery): (id: bigint) => string | number {
  return (id) => (format === 'number' ? Number(id) : String(id));
}

/** The type to show a turn as. Undefined for a payload that needs none: it has names itself. */
function specOf({ rec }: SentTurn, { query, registry }: How): TypeSpec | 'missing' | undefined {
  if (query.view === 'raw' || rec.hash === undefined) return undefined;
  const named = asked(rec.type, rec.version, query, registry);
  if (rec.encoding !== Encoding.msgpack && query.type_hint_mode !== 'explicit') return named;
  return named ?? 'missing';
}

function asked(
  type: string,
  version: number,
  query: TurnsQuery,
  { types, latest }: Registry,
): TypeSpec | undefined {
  switch (query.type_hint_mode) {
    case 'latest':
      return latest.get(type);
    case 'explicit': {
      const { as_type_id: id, as_type_version: wanted } = query;
      if (id === undefined) throw invalid('as_type_id', 'is needed to show turns as another type');
      if (wanted === undefined)
        throw invalid('as_type_version', 'is needed together with as_type_id');
      return types.get(id)?.get(Number(wanted));
    }
    case 'inherit':
      return types.get(type)?.get(version);
  }
}

function withoutType({ rec }: SentTurn, { as_type_id: id = rec.type }: TurnsQuery): Error {
  const message = `no type descriptor is published for ${id}; ask with view=raw, or publish it`;
  return notFound(TYPE_DESCRIPTOR, id, message);
}

function toJson({ rec }: SentTurn, spec: TypeSpec | undefined, how: How): object {
  const { query } = how;
  const formatId = idFormat(query);
  return {
    turn_id: formatId(rec.id),
    parent_turn_id: formatId(rec.parent),
    depth: rec.depth,
    declared_type: { type_id: rec.type, type_version: rec.version },
    ...(query.view !== 'raw' && typed(rec, spec, how)),
    ...(query.view !== 'typed' && raw(rec, query)),
  };
}

type Rec = SentTurn['rec'];

function typed(rec: Rec, spec: TypeSpec | undefined, { query, registry }: How): object {
  if (rec.hash === undefined) return failed('the payload was removed');
  const type = query.type_hint_mode === 'explicit' ? query.as_type_id : rec.type;
  const decoded = {
    decoded_as: { type_id: type, type_version: spec?.version ?? rec.version },
  };
  let value: unknown;
  try {
    value = decodePayload(rec.payload, rec.encoding);
  } catch {
    return { ...decoded, ...failed('the payload is not in its encoding') };
  }
  if (spec === undefined) return { ...decoded, data: toJsonValue(value) };
  const { u64_format = 'number' } = query;
  const options = { ...query, u64_format, string_limit: limitOf(query) };
  const projected = project(value, spec, registry, options);
  if (projected === undefined) return { ...decoded, ...failed('the payload is no map of fields') };
  return { ...decoded, ...projected };
}

function failed(message: string): object {
  return { projection_error: { message } };
}

function raw({ hash, encoding, payload }: Rec, { bytes_render: render }: TurnsQuery): object {
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.length);
  return {
    content_hash_b3: hash ?? null,
    encoding,
    compression: 0,
    uncompressed_len: payload.length,
    ...(render === 'base64' && { bytes_b64: bytes.toString('base64') }),
    ...(render === 'hex' && { bytes_hex: bytes.toString('hex') }),
    ...(render === 'len_only' && { bytes_len: payload.length }),
  };
}

/** The limit of the texts of a turn. A turn that was asked for alone is shown whole. */
function limitOf({ turn_id: exact, string_limit: text }: TurnsQuery): number | undefined {
  if (exact !== undefined || text === undefined) return undefined;
  if (Number(text) <= STRING_LIMIT_MAX) return Number(text);
  throw invalid('string_limit', `must be at most ${STRING_LIMIT_MAX}`);
}

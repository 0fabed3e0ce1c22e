import { z } from 'zod';
import { notFound } from '../../../base/errors.ts';
import { hashText } from '../../../base/hash.ts';
import { decodeUtf8 } from '../../../base/text.ts';
import { parseJson, readBody } from '../exchange/read-body.ts';
import { jsonReply, route } from '../exchange/route.ts';
import type { Route } from '../exchange/route.ts';
import type { TypeSpec } from './type-registry.ts';
import { putBundle, readBundle, readRegistry } from './type-registry.ts';

const BUNDLE_BYTES_MAX = 1024 * 1024;
const EXAMPLE_FIELD = { name: 'role', type: 'string' };
const fields = z.record(z.string(), z.looseObject({ name: z.string(), type: z.string() }));

export const registryRoutes: readonly Route[] = [
  route.put('/v1/registry/bundles/:bundle{.+}', {
    name: 'putTypeBundle',
    summary: 'Publish types: names and kinds of the numbered fields of payloads',
    query: z.object({}),
    body: { bytes: 'A bundle as JSON of at most 1 MiB. The id in it counts, not that of the path' },
    answer: {
      status: 201,
      what: 'It is there; 204 when it was before. 409 when it contradicts another bundle',
      json: z.strictObject({ bundle_id: z.string() }),
      example: { bundle_id: '2025-01-30T10:00:00Z#abc123' },
    },
    async run({ request, engine }) {
      const text = decodeUtf8(await readBody(request, BUNDLE_BYTES_MAX));
      const bundle = parseJson(Buffer.from(text));
      const isNew = await putBundle(engine, text, bundle);
      if (!isNew) return { status: 204 };
      return jsonReply({ bundle_id: (bundle as { bundle_id: string }).bundle_id });
    },
  }),
  route.get('/v1/registry/bundles/:bundle{.+}', {
    name: 'getTypeBundle',
    summary: 'A bundle, byte for byte as it was published',
    headers: { 'If-None-Match': 'The ETag of a bundle that the client has: 304' },
    query: z.object({}),
    answer: {
      what: 'The bundle',
      json: z.looseObject({ registry_version: z.number(), bundle_id: z.string() }),
      example: { registry_version: 1, bundle_id: '2025-01-30T10:00:00Z#abc123', types: {} },
    },
    async run({ params: { bundle: id }, request, engine }) {
      const text = await readBundle(engine, id);
      if (text === undefined) throw notFound('bundle', id);
      const headers = { ETag: `"${hashText(text)}"`, 'Cache-Control': 'private, max-age=31536000' };
      if (request.header('if-none-match') === headers.ETag) return { status: 304, headers };
      return { headers, body: text };
    },
  }),
  route.get('/v1/registry/types', {
    name: 'listTypes',
    summary: 'Types with their latest versions, by name',
    query: z.object({}),
    answer: {
      what: 'The types',
      json: z.strictObject({
        types: z.array(
          z.strictObject({
            type_id: z.string(),
            latest_version: z.int(),
            bundle_id: z.string(),
          }),
        ),
      }),
      example: { types: [{ type_id: 'com.example.Message', latest_version: 2, bundle_id: 'b' }] },
    },
    async give({ engine }) {
      const { latest } = await readRegistry(engine);
      const types = [...latest].map(([type, { version, bundle }]) => ({
        type_id: type,
        latest_version: version,
        bundle_id: bundle,
      }));
      types.sort((a, b) => (a.type_id < b.type_id ? -1 : 1));
      return { types };
    },
  }),
  route.get('/v1/registry/types/:type/versions/:version', {
    name: 'getType',
    summary: 'The fields of one version of a type',
    query: z.object({}),
    answer: {
      what: 'Fields by their number',
      json: z.looseObject({ type_id: z.string(), type_version: z.int(), fields }),
      example: { type_id: 'com.example.Message', type_version: 1, fields: { 1: EXAMPLE_FIELD } },
    },
    async give({ params: { type, version }, engine }) {
      const { types } = await readRegistry(engine);
      const spec = /^\d{1,9}$/.test(version) ? types.get(type)?.get(Number(version)) : undefined;
      if (spec === undefined) throw notFound('type version', `${type} ${version}`.slice(0, 200));
      return toJson(type, spec);
    },
  }),
  route.get('/v1/registry/renderers', {
    name: 'listRenderers',
    summary: 'The renderers that types name, each of its latest version',
    query: z.object({}),
    answer: {
      what: 'Renderers by type. This server loads none of them',
      json: z.strictObject({ renderers: z.record(z.string(), z.looseObject({})) }),
      example: { renderers: { 'com.example.Message': { esm_url: 'builtin:Message' } } },
    },
    async give({ engine }) {
      const { latest } = await readRegistry(engine);
      const shown = [...latest].map(([type, { renderer }]) => [type, renderer]);
      return {
        renderers: Object.fromEntries(shown.filter(([, one]) => one !== undefined)) as object,
      };
    },
  }),
];

function toJson(type: string, { version, fields: found, renderer }: TypeSpec): object {
  const numbered = Object.fromEntries(found);
  const shown = renderer === undefined ? {} : { renderer };
  return { type_id: type, type_version: version, fields: numbered, ...shown };
}

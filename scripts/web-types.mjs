// Writes the types that the page uses of the HTTP API, from the description that the server gives of itself.
// Run `npm run build` first, then `node scripts/web-types.mjs`. A test compares the file with what this would write.
import { writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compile } from 'json-schema-to-typescript';
import { createRoutes } from '../dist/server/http/routes/create-routes.js';
import { describeApi } from '../dist/server/http/routes/open-api.js';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
export const typesFile = join(root, 'web/src/api/answers.ts');

/** The text of the file: the answer of each operation as a type, and its method and path as a value. */
export async function webTypes() {
  const answers = {};
  const operations = [];
  const { paths } = describeApi(createRoutes(), '0');
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, { operationId, responses }] of Object.entries(methods)) {
      const [status = ''] = Object.keys(responses).filter((code) => code !== 'default');
      const schema = responses[status]?.content?.['application/json']?.schema;
      if (schema !== undefined) answers[operationId] = schema;
      operations.push(`  ${operationId}: ['${method.toUpperCase()}', '${path}'],`);
    }
  }
  const schema = {
    type: 'object',
    properties: answers,
    required: Object.keys(answers),
    additionalProperties: false,
  };
  const types = await compile(schema, 'Answers', {
    bannerComment: '',
    format: false,
    ignoreMinAndMaxItems: true,
    style: { singleQuote: true },
  });
  return [
    '// Made by scripts/web-types.mjs from the description of the HTTP API. Do not edit.',
    '',
    types.trim(),
    '',
    'export const OPERATIONS = {',
    ...operations,
    '} as const satisfies Readonly<Record<string, readonly [method: string, path: string]>>;',
    '',
  ].join('\n');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(typesFile, await webTypes());

// Writes the types that the page uses of the HTTP API, from the description that the server gives of itself.
// Run `npm run build` first, then `node scripts/web-types.mjs`. With `--check` it writes nothing and says whether it would.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compile } from 'json-schema-to-typescript';
import { createRoutes, describeApi } from '../dist/server/http/routes/create-routes.js';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
export const typesFile = join(root, 'web/src/api/answers.ts');

/** The text of the file: the answer of each operation of the page as a type, and its method and path as a value. */
export async function webTypes() {
  const page = readPage();
  const answers = {};
  const operations = [];
  const { paths } = describeApi(createRoutes(), '0');
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, { operationId, responses }] of Object.entries(methods)) {
      if (!page.includes(`'${operationId}'`)) continue;
      const [status = ''] = Object.keys(responses).filter((code) => code !== 'default');
      const schema = responses[status]?.content?.['application/json']?.schema;
      if (schema !== undefined) answers[operationId] = schema;
      operations.push(`  ${operationId}: ['${method.toUpperCase()}', '${path}'],`);
    }
  }
  const schema = {
    type: 'object',
    properties: sayOnce(answers),
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

/** Says each shape in one place: where it comes again, the type names that place, whole answers before parts of them. */
function sayOnce(answers) {
  const places = new Map();
  const whole = Object.entries(answers).map(([name, schema]) => [`Answers['${name}']`, schema]);
  const isShape = ({ properties }) => Object.keys(properties ?? {}).length > 2;
  const refer = (schema, place) => {
    const text = JSON.stringify({ ...schema, description: undefined });
    const known = isShape(schema) ? places.get(text) : undefined;
    if (known !== undefined && known !== place) {
      return { tsType: known, ...(schema.description && { description: schema.description }) };
    }
    if (isShape(schema)) places.set(text, place);
    const { properties, items } = schema;
    const within = Object.entries(properties ?? {}).map(([name, part]) => [
      name,
      refer(part, `${place}['${name}']`),
    ]);
    return {
      ...schema,
      ...(properties && { properties: Object.fromEntries(within) }),
      ...(items && { items: refer(items, `${place}[number]`) }),
    };
  };
  for (const [place, schema] of whole) {
    const text = JSON.stringify({ ...schema, description: undefined });
    if (isShape(schema) && !places.has(text)) places.set(text, place);
  }
  const said = whole.map(([place, schema]) => refer(schema, place));
  return Object.fromEntries(Object.keys(answers).map((name, at) => [name, said[at]]));
}

/** The code of the page. It quotes the name of each operation that it asks for. */
function readPage() {
  const folder = join(root, 'web/src');
  const names = readdirSync(folder, { recursive: true }).filter((name) => /\.tsx?$/.test(name));
  const files = names.map((name) => join(folder, name)).filter((name) => name !== typesFile);
  return files.map((name) => readFileSync(name, 'utf8')).join('\n');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const text = await webTypes();
  if (!process.argv.includes('--check')) writeFileSync(typesFile, text);
  else if (readFileSync(typesFile, 'utf8') !== text) {
    console.error('web/src/api/answers.ts is behind: node scripts/web-types.mjs');
    process.exitCode = 1;
  }
}

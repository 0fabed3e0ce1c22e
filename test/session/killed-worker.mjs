// Writes to a session until it is killed, and says what was acknowledged, a line each.
import { createHash } from 'node:crypto';
import { writeSync } from 'node:fs';
import { openStore } from '../../dist/index.js';

const [, , place, id, name, withPictures] = process.argv;
const store = await openStore(place);
const session = await store.sessions.open(id);
const tell = (line) => writeSync(1, `${JSON.stringify(line)}\n`);
tell({ ready: true });
for (let n = 0; ; n++) {
  const bytes = Buffer.alloc(withPictures === 'yes' ? 400_000 : 0, `${name} ${n} `);
  const content = [{ type: 'image', mimeType: 'image/png', data: bytes.toString('base64') }];
  const message = { role: 'user', content };
  const entry = await session.append({ type: 'message', id: `${name}-${n}`, message });
  const sum = createHash('sha256').update(content[0].data).digest('hex');
  tell({ entry: entry.id, sum });
  if (bytes.length > 0)
    await store.blobs.path(`blob:sha256:${createHash('sha256').update(bytes).digest('hex')}`);
  const saved = await session.saveArtifact(`${name} says ${n}`, name);
  tell({ artifact: saved.id, text: `${name} says ${n}` });
}

// Works on a session as one of several processes: appends, saves artifacts, and says what it was told.
import { openStore } from '../../dist/index.js';

const [, , place, id, name, appends, saves] = process.argv;
const store = await openStore(place, { durability: 'unsafe' });
const session = await store.sessions.open(id);
const entries = [];
for (let n = 0; n < Number(appends); n++) {
  entries.push((await session.append({ type: 'message', id: `${name}-${n}` })).id);
}
const artifacts = [];
for (let n = 0; n < Number(saves); n++) {
  const text = `${name} ${n}`;
  artifacts.push({ id: (await session.saveArtifact(text, name)).id, text });
}
const agents = await session.artifacts.allocateAgents(['A', 'B']);
await store.close();
process.stdout.write(JSON.stringify({ entries, artifacts, agents }));

// Fills a store, with some of it for nobody, and is killed: what it acknowledged is all there may be.
import { randomBytes } from 'node:crypto';
import { pathToFileURL } from 'node:url';

const [folder, library] = process.argv.slice(2);
const { openStore } = await import(pathToFileURL(library).href);
const store = await openStore(folder);
const { id } = await store.contexts.create();
await store.contexts.append(id, { type: 'note', payload: 'first', encoding: 'text' });
await store.contexts.append(id, { type: 'note', payload: 'a secret', encoding: 'text' });
await store.blobs.put(randomBytes(8 * 1024 * 1024));
process.kill(process.pid, 'SIGKILL');

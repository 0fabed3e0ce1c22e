// Opens a store with whatever patience it has by default, appends a turn and leaves.
import { pathToFileURL } from 'node:url';

const [folder, library] = process.argv.slice(2);
const { openStore } = await import(pathToFileURL(library).href);
const store = await openStore(folder);
const { id } = await store.contexts.create();
await store.contexts.append(id, { type: 'note', payload: 'was here' });
await store.close();

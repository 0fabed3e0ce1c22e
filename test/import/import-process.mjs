// Imports a home into a store, and can be killed at any moment. Arguments: store, home, name of the source.
import process from 'node:process';
import { importHistory, importSources, openStore } from '../../dist/index.js';

const [, , place = '', home = '', name = ''] = process.argv;
const source = importSources.find((one) => one.name === name);
if (source === undefined) throw new Error(`no source ${name}`);
const store = await openStore(place);
process.stdout.write('open\n');
await importHistory(store, source, { place: home });
await store.close();

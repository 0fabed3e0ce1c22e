// A server in a process of its own: takes the folder, prints its addresses as JSON, and ends when its input
// does, so it never outlives the process that started it.
import { once } from 'node:events';
import { createLog } from '../src/server/log/log.ts';
import { startServer } from '../src/server/start-server.ts';
import { tokenFileOf } from '../src/server/access/token-file.ts';

const store = process.argv[2];
if (store === undefined) throw new TypeError('name the folder to serve');
const server = await startServer({
  store,
  host: '127.0.0.1',
  httpPort: 0,
  tcpPort: 0,
  tokenFile: tokenFileOf(store),
  allowAnonymous: false,
  allowHandlers: false,
  origins: [],
  limits: {},
  demo: false,
  version: 'bench',
  log: createLog({
    level: 'warn',
    forPeople: false,
    write: (text) => void process.stderr.write(text),
  }),
});
console.log(JSON.stringify({ tcp: server.tcp, http: server.http }));

process.stdin.resume();
await once(process.stdin, 'end');
await server.close();

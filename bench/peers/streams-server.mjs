// The server of Durable Streams on a folder, in a process of its own: prints its address, and ends when its input does.
import { once } from 'node:events';
import process from 'node:process';
import { DurableStreamTestServer } from '@durable-streams/server';

// What it reports goes to the output, where the address is expected.
console.info = () => {};
const [dataDir] = process.argv.slice(2);
const server = new DurableStreamTestServer({ port: 0, host: '127.0.0.1', dataDir });
await server.start();
console.log(server.url);

process.stdin.resume();
await once(process.stdin, 'end');
await server.stop();

// A server that does nothing but answer, in a process of its own: takes how many bytes a request has and an answer
// gets, prints its port, and ends when its input does.
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';

const requestBytes = Number(process.argv[2]);
const answer = Buffer.alloc(Number(process.argv[3]));
const server = createServer({ noDelay: true }, (socket) => {
  let received = 0;
  socket.on('data', (chunk: Buffer) => {
    received += chunk.length;
    for (; received >= requestBytes; received -= requestBytes) socket.write(answer);
  });
});
await once(server.listen(0, '127.0.0.1'), 'listening');
console.log((server.address() as AddressInfo).port);

process.stdin.resume();
await once(process.stdin, 'end');
server.close();

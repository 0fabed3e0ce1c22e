import { isQuipuError, unsupported } from '../../base/errors.ts';
import { PROTOCOL_VERSION, decodeHelloReply, encodeHello, helloMeta } from '../../wire/hello.ts';
import { parseJsonObject } from '../../wire/json-object.ts';
import { MessageType } from '../../wire/message-type.ts';
import { unavailable } from '../outcome.ts';
import { Connection } from './connection.ts';
import { connected } from './dial.ts';
import type { Dial } from './dial.ts';

const TAG = 'quipu-js';

/** Opens a connection, on which server and client have identified themselves. */
export async function openConnection(
  dial: Dial,
  token: string | undefined,
  timeoutMs: number,
): Promise<Connection> {
  const dialled = dial();
  const { socket } = dialled;
  try {
    await connected(socket, timeoutMs);
  } catch (error) {
    socket.destroy();
    // Later errors of an abandoned socket must not end the process.
    socket.on('error', () => undefined);
    throw unavailable(`the server cannot be reached: ${messageOf(error)}`, error);
  }
  const hello = encodeHello({
    version: PROTOCOL_VERSION,
    tag: TAG,
    meta: helloMeta({ token, quipu: true }),
  });
  const connection = new Connection(dialled, hello);
  const timer = setTimeout(() => {
    connection.end(unavailable(`the server did not answer within ${timeoutMs} ms`));
  }, timeoutMs);
  try {
    const { reply } = connection.request({ type: MessageType.HELLO, parts: hello });
    assertQuipu(decodeHelloReply(await reply).caps);
    return connection;
  } catch (error) {
    connection.end(error);
    throw isQuipuError(error, 'UNAVAILABLE')
      ? unavailable(`the server refused the connection: ${error.message}`, error)
      : error;
  } finally {
    clearTimeout(timer);
  }
}

/** Other servers of this protocol do not know calls. */
function assertQuipu(caps: string | undefined): void {
  const server = parseJsonObject(caps ?? '')?.['server'];
  if (server === 'quipu') return;
  throw unsupported(
    'server',
    typeof server === 'string' ? server : 'another protocol',
    'the server is not a Quipu server; check the address',
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

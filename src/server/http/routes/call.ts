import { z } from 'zod';
import { invalid, unsupported } from '../../../base/errors.ts';
import type { Parts } from '../../../wire/byte-codec.ts';
import { fromCall, toCall } from '../../../wire/call-values.ts';
import { decodeCallReply, encodeCallReply, encodeStream } from '../../../wire/call.ts';
import { METHOD_BYTES_MAX } from '../../../wire/limits.ts';
import { assertAllowed } from '../../access/access.ts';
import type {
  CallHandler,
  Caller,
  StreamHandler,
  UploadHandler,
} from '../../calls/call-handler.ts';
import { isOwnFault, toWireError } from '../../request/request.ts';
import { withHeartbeats } from '../exchange/event-stream.ts';
import { readBody, readUpload } from '../exchange/read-body.ts';
import { routesAt } from '../exchange/route.ts';
import type { HttpRequest, Reply, Route } from '../exchange/route.ts';

// The verbs of a store by name, for the client that is a whole store over HTTP. Bodies are those of the binary
// protocol. A request has the body of a CALL, and an answer has the body of its reply. A stream has STREAM bodies, each
// after its length as u32; a length of 0 only says that the stream is alive. An upload has its arguments first, after
// their length, and then the bytes to upload.

const TYPE = 'application/x-quipu-call';
const ARGUMENT_BYTES_MAX = 1024 * 1024;
const HEARTBEAT = new Uint8Array(4);

export const callRoutes: readonly Route[] = [
  routesAt('/v1/call/:method', { method: z.string().max(METHOD_BYTES_MAX) }).post('', {
    name: 'call',
    summary: 'Any verb of the store by its name, in the encoding of the binary protocol',
    // The verb itself says which scope it needs.
    needs: 'read',
    body: { bytes: 'The body of a CALL; see the wire protocol' },
    answer: { what: 'The body of a CALL reply, or STREAM bodies', type: TYPE },
    async run({ params: { method }, request }) {
      const handler = request.service.calls.get(method);
      if (handler === undefined) {
        const found = method.slice(0, METHOD_BYTES_MAX);
        throw unsupported('method', found, `there is no method ${found}`);
      }
      assertAllowed(request.identity, handler.needs);
      return runCall(handler, request);
    },
  }),
];

async function runCall(handler: CallHandler, request: HttpRequest): Promise<Reply> {
  const caller: Caller = { identity: request.identity, signal: request.signal };
  if (handler.kind === 'upload') return runUpload(handler, request, caller);
  const args = toArguments(await readBody(request, request.service.limits.bodyBytes));
  // The body has arrived, and an answer may take its time.
  request.incoming.socket.setTimeout(0);
  if (handler.kind === 'answer') {
    const run = async (): Promise<Reply> => answer(await handler.run(args, caller));
    // Many writes run at a time, because otherwise they could not share a sync. Their answers are small.
    return handler.needs === 'read' ? request.room.make(run) : run();
  }
  return { type: TYPE, body: streamed(handler, args, request, caller) };
}

async function runUpload(
  handler: UploadHandler,
  request: HttpRequest,
  caller: Caller,
): Promise<Reply> {
  const pieces = readUpload(request);
  const { head, rest } = await splitUpload(pieces);
  return answer(await handler.run(toArguments(head), rest, caller));
}

/** Splits an upload into the arguments at its front and the bytes after them. */
async function splitUpload(
  pieces: AsyncGenerator<Uint8Array, void, undefined>,
): Promise<{ head: Uint8Array; rest: AsyncIterable<Uint8Array> }> {
  let held = Buffer.alloc(0);
  const fill = async (size: number): Promise<void> => {
    while (held.length < size) {
      const next = await pieces.next();
      if (next.done === true) throw invalid('body', 'ends before the arguments of the upload do');
      held = Buffer.concat([held, next.value]);
    }
  };
  await fill(4);
  const size = held.readUInt32LE(0);
  if (size > ARGUMENT_BYTES_MAX) throw invalid('body', 'has arguments that are too long');
  await fill(4 + size);
  const first = held.subarray(4 + size);
  async function* rest(): AsyncGenerator<Uint8Array, void, undefined> {
    if (first.length > 0) yield first;
    yield* pieces;
  }
  return { head: held.subarray(4, 4 + size), rest: rest() };
}

function toArguments(body: Uint8Array): readonly unknown[] {
  const args = fromCall(decodeCallReply(body));
  if (Array.isArray(args)) return args as readonly unknown[];
  throw invalid('body', 'is not a list of arguments');
}

function answer(result: unknown): Reply {
  return { type: TYPE, body: join(encodeCallReply(toCall(result))) };
}

async function* streamed(
  handler: StreamHandler,
  args: readonly unknown[],
  { service, room }: HttpRequest,
  caller: Caller,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    const items = handler.run(args, caller);
    for await (const item of withHeartbeats(boxed(items), service.limits.heartbeatMs)) {
      if (item === undefined) yield HEARTBEAT;
      else {
        yield* room.made(() => framed(encodeStream({ kind: 'item', body: toCall(item.value) })));
      }
    }
    // When the server stops, the stream has not come to its end.
    if (!service.stopping.aborted) yield framed(encodeStream({ kind: 'end' }));
  } catch (error) {
    if (isOwnFault(error)) service.log.error({ err: error }, 'a stream failed');
    yield framed(encodeStream({ kind: 'error', error: toWireError(error, true) }));
  }
}

/** An item may itself be undefined. */
async function* boxed(
  items: AsyncIterable<unknown>,
): AsyncGenerator<{ value: unknown }, void, undefined> {
  for await (const value of items) yield { value };
}

function framed(parts: Parts): Uint8Array {
  const body = join(parts);
  const framedBody = Buffer.allocUnsafe(4 + body.length);
  framedBody.writeUInt32LE(body.length, 0);
  framedBody.set(body, 4);
  return framedBody;
}

function join(parts: Parts): Uint8Array {
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : Buffer.concat(parts);
}

import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { encodeFrame, toReqId, FrameReader } from '../../src/wire/frame.ts';
import type { Frame } from '../../src/wire/frame.ts';
import { decodeError } from '../../src/wire/error-message.ts';
import type { ErrorMessage } from '../../src/wire/error-message.ts';
import { encodeHello, helloMeta } from '../../src/wire/hello.ts';
import { FRAME_PAYLOAD_MAX } from '../../src/wire/limits.ts';
import { MessageType } from '../../src/wire/message-type.ts';

/** A client that does exactly what it is told, right or wrong. */
export class SocketPeer {
  readonly socket: Socket;
  readonly #reader = new FrameReader(FRAME_PAYLOAD_MAX);
  readonly #frames: Frame[] = [];
  #wake: (() => void) | undefined;
  #ended = false;
  #req = 1000n;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.#reader.push(chunk);
      for (let event = this.#reader.next(); event !== undefined; event = this.#reader.next()) {
        if (event.kind !== 'frame') throw new Error('the server sent an oversized frame');
        this.#frames.push(event);
      }
      this.#wake?.();
    });
    socket.on('error', () => undefined);
    socket.on('end', () => socket.end());
    socket.on('close', () => {
      this.#ended = true;
      this.#wake?.();
    });
  }

  static async open(port: number): Promise<SocketPeer> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    return new SocketPeer(socket);
  }

  /** Opened, and known to speak what Quipu adds. */
  static async openQuipu(port: number, token?: string): Promise<SocketPeer> {
    const peer = await SocketPeer.open(port);
    const meta = helloMeta({ token, quipu: true });
    await peer.ask(MessageType.HELLO, encodeHello({ version: 1, tag: 'test', meta }));
    return peer;
  }

  send(...bytes: readonly Uint8Array[]): void {
    for (const part of bytes) this.socket.write(part);
  }

  /** Sends a request and says what its id is. */
  request(type: number, parts: readonly Uint8Array[], flags = 0): bigint {
    this.#req += 1n;
    this.send(encodeFrame(type, flags, toReqId(this.#req), ...parts));
    return this.#req;
  }

  async ask(type: number, parts: readonly Uint8Array[], flags = 0): Promise<Frame> {
    this.request(type, parts, flags);
    return this.next();
  }

  /** The payload of the reply; throws what the server answered instead. */
  async must(type: number, parts: readonly Uint8Array[], flags = 0): Promise<Buffer> {
    const reply = await this.ask(type, parts, flags);
    if (reply.type === type) return reply.payload;
    const { code, detail } = decodeError(reply.payload);
    throw new Error(`type ${type} was answered with ${code} ${detail}`);
  }

  /** The error in reply to a request. */
  async refused(type: number, parts: readonly Uint8Array[], flags = 0): Promise<ErrorMessage> {
    return errorIn(await this.ask(type, parts, flags));
  }

  /** The next frame, whatever it is. */
  async next(): Promise<Frame> {
    for (;;) {
      const frame = this.#frames.shift();
      if (frame !== undefined) return frame;
      if (this.#ended) throw new Error('the connection ended');
      await this.#something();
    }
  }

  async error(): Promise<ErrorMessage> {
    return errorIn(await this.next());
  }

  /** Frames that came and were not asked for with `next`. */
  get waiting(): number {
    return this.#frames.length;
  }

  /** Resolves when the connection is closed from the other side. */
  async ended(): Promise<void> {
    while (!this.#ended) await this.#something();
  }

  close(): void {
    this.socket.destroy();
  }

  async #something(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    this.#wake = undefined;
  }
}

export function errorIn(frame: Frame): ErrorMessage {
  if (frame.type === MessageType.ERROR) return decodeError(frame.payload);
  throw new Error(`a frame of type ${frame.type} is no error`);
}

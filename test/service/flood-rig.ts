import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { toCall } from '../../src/wire/call-values.ts';
import { projectPath } from '../support/project.ts';

export const MIB: number = 1024 * 1024;
const SETTLE_MS = 500;
/** Of `pulseMs`: served, and not left to wait, on a machine that is slow and does much else. */
export const PULSE_MS_MAX = 30_000;

/** What a process occupies, after it has collected its garbage, and has occupied at most. */
export interface Look {
  readonly rss: number;
  readonly peak: number;
  /** As `peak`, or what its parent occupied when it started this process, if that was more. */
  readonly inherited: number;
  /** Bytes of objects and buffers that are in use. */
  readonly used: number;
  /** Of the binary protocol. */
  readonly connections: number;
  /** Of its work, without the looks: collecting the garbage of a large heap takes long on a slow machine. */
  readonly cpuMs: number;
}

interface Ports {
  readonly port: number;
  readonly guardedPort: number;
  readonly httpPort: number;
}

/** A server in a process of its own, whose memory can be looked at. */
export class FloodServer implements AsyncDisposable {
  readonly ports: Ports;
  readonly #process: ChildProcess;
  readonly #sockets: Socket[] = [];

  private constructor(child: ChildProcess, ports: Ports) {
    this.#process = child;
    this.ports = ports;
  }

  /** `boundless`: one that answers everything at once, for those who look to see that they would notice. */
  static async start(kind: 'bounded' | 'boundless' = 'bounded'): Promise<FloodServer> {
    const script = projectPath('test/service/flood-server.mjs');
    const child = fork(script, [kind], { execArgv: ['--expose-gc'] });
    const [ports] = (await once(child, 'message')) as [Ports];
    return new FloodServer(child, ports);
  }

  async look(): Promise<Look> {
    this.#process.send('look');
    const [seen] = (await once(this.#process, 'message')) as [Look];
    return seen;
  }

  /** What it is like when it has done what it does about what it was asked. */
  async settled(): Promise<Look> {
    for (let before = await this.look(); ;) {
      await sleep(SETTLE_MS);
      const after = await this.look();
      if (after.cpuMs - before.cpuMs < SETTLE_MS / 5) return after;
      before = after;
    }
  }

  /** Connections that read nothing, and say `words`. */
  async connect(
    count: number,
    words: string | Uint8Array = '',
    to: number = this.ports.httpPort,
  ): Promise<Socket[]> {
    const sockets: Socket[] = [];
    for (let index = 0; index < count; index += 1) {
      const socket = connect({ port: to, host: '127.0.0.1' });
      socket.on('error', () => undefined).pause();
      if (words.length > 0) socket.write(words);
      sockets.push(socket);
      // All at once would only test how long the queue of the operating system is.
      if (index % 100 === 99) await once(socket, 'connect');
    }
    this.#sockets.push(...sockets);
    const late = sockets.filter((socket) => socket.connecting);
    await Promise.all(late.map((socket) => once(socket, 'connect')));
    return sockets;
  }

  /** Ends the connections. */
  cut(): void {
    for (const socket of this.#sockets.splice(0)) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    if (this.#process.exitCode !== null) return;
    this.#process.disconnect();
    await once(this.#process, 'exit');
  }

  async http(method: string, path: string, body?: unknown): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.ports.httpPort}${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }

  /** A new context with turns of so many bytes; its path. */
  async fill(turns: number, bytes: number): Promise<string> {
    const created = await this.http('POST', '/v1/contexts', {});
    const { id } = (await created.json()) as { id: string };
    const path = `/v1/contexts/${id}`;
    for (let index = 0; index < turns; index += 1) {
      const payload = `${id} ${index} `.padEnd(bytes, 'x');
      const answer = await this.http('POST', `${path}/turns`, { type: 'note', payload });
      if (answer.status !== 201) throw new Error(`could not fill the store: ${answer.status}`);
      await answer.text();
    }
    return path;
  }

  /** How long the server takes to say that it is well. */
  async pulseMs(): Promise<number> {
    const startedMs = performance.now();
    const answer = await this.http('GET', '/healthz');
    await answer.text();
    if (answer.status !== 200) throw new Error(`the server is not well: ${answer.status}`);
    return performance.now() - startedMs;
  }
}

/** The arguments of the call `contexts.page`: the last turns of a context, by its path. */
export function pageArguments(path: string, turns: number): ReturnType<typeof toCall> {
  const context = BigInt(path.split('/').at(-1) ?? '');
  const read = { payload: true, as: 'latest', maxBytes: 64 * MIB };
  return toCall([{ kind: 'last', context, n: turns }, read]);
}

export function getOf(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
}

/** Reads whatever comes until the end. */
export function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.resume().once('close', () => resolve()));
}

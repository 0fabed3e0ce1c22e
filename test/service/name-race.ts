import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { projectPath } from '../support/project.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import type { Tampering } from '../support/tcp-proxy.ts';
import { HostProcess, ownerOf } from './host-rig.ts';

export interface NameRace {
  readonly processes: number;
  readonly rounds: number;
  /** Somebody is killed in every such round, while all answers are on their way. 0: never. */
  readonly killEvery: number;
  /** The verb of the processes under test. */
  readonly verb: 'getOrCreate' | 'lookThenCreate';
  /** With which the processes open the store. */
  readonly options?: object;
  /** Picks the one to be killed now, and kills it when it is called. Default: the owner of the folder. */
  readonly pick?: (all: HostProcess[]) => () => Promise<void>;
}

export interface RaceResult {
  readonly rounds: number;
  readonly kills: number;
  /** Rounds in which the processes did not all get the same context. */
  readonly split: readonly string[];
}

/** In every round all processes ask for one new name at the same time. Who is killed is replaced for the next round. */
export async function raceForNames(place: string, race: NameRace): Promise<RaceResult> {
  const { options, pick = (all) => replacing(all, ownerOf(place, all), place, options) } = race;
  const all = await Promise.all(
    Array.from({ length: race.processes }, () => HostProcess.open(place, options)),
  );
  const split: string[] = [];
  let kills = 0;
  for (let round = 0; round < race.rounds; round += 1) {
    const name = `name ${round}`;
    const answers = all.map((one) => askOrDie(one, race.verb, name));
    if (race.killEvery > 0 && round % race.killEvery === race.killEvery - 1) {
      const kill = pick(all);
      // The moment of the death is another one in every round.
      await sleep(kills % 8);
      await kill();
      kills += 1;
    }
    const ids = new Set((await Promise.all(answers)).filter((id) => id !== undefined));
    // Who comes later gets it, too.
    ids.add(await all[round % all.length]!.ask<string>(race.verb, name));
    if (ids.size !== 1) split.push(`${name}: contexts ${[...ids].join(', ')}`);
  }
  return { rounds: race.rounds, kills, split };
}

/** Kills one of the processes, and opens another in its place. */
export function replacing(
  all: HostProcess[],
  victim: HostProcess,
  place: string,
  options?: object,
): () => Promise<void> {
  return async () => {
    await victim.kill();
    all[all.indexOf(victim)] = await HostProcess.open(place, options);
  };
}

/** Undefined when the process was killed before it answered. */
async function askOrDie(one: HostProcess, verb: string, name: string): Promise<string | undefined> {
  return Promise.race([one.ask<string>(verb, name), one.exited.then(() => undefined)]);
}

/** A server of a folder that can be killed. A new one is then found at the same address. */
export class KilledServer extends TcpProxy {
  readonly #folder: string;
  #child: ChildProcess | undefined;

  static async start(folder: string): Promise<KilledServer> {
    const server = await new KilledServer(folder).listen();
    onTestFinished(() => server.close());
    await server.#serve();
    return server;
  }

  private constructor(folder: string) {
    super(0);
    this.#folder = folder;
  }

  get address(): string {
    return `quipu://127.0.0.1:${this.port}`;
  }

  async replace(): Promise<void> {
    await this.#kill();
    await this.#serve();
  }

  override async close(): Promise<void> {
    await this.#kill();
    await super.close();
  }

  protected tamper(): Tampering {
    const pass = (bytes: Uint8Array) => ({ bytes, cut: false });
    return { request: pass, reply: pass };
  }

  async #serve(): Promise<void> {
    const serve = ['serve', '--store', this.#folder, '--port', '0', '--tcp-port', '0', '--json'];
    this.#child = spawn(process.execPath, [projectPath('dist/cli/main.js'), ...serve], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [line] = (await once(createInterface(this.#child.stdout!), 'line')) as [string];
    this.targetPort = Number(new URL((JSON.parse(line) as { tcp: string }).tcp).port);
  }

  async #kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }
}

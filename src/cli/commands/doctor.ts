import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { CommandIo } from '../command.ts';
import { defineCommand, withIo } from '../command.ts';
import { checkDisk } from '../doctor/check-disk.ts';
import { checkHealth } from '../doctor/check-health.ts';
import { checkClock, checkNative, checkNode, checkOpenFiles } from '../doctor/check-machine.ts';
import { checkOpen, checkSocket } from '../doctor/check-open.ts';
import type { Finding } from '../doctor/finding.ts';
import { fail, ok, reasonOf, toFindingsTable, warn } from '../doctor/finding.ts';
import { isAddress } from '../locate-store.ts';
import { Unhealthy } from '../unhealthy.ts';
import { readVersion } from '../version.ts';
import type { World } from '../world.ts';

interface Options {
  readonly server?: string;
}

export function doctor(world: World): Command {
  return defineCommand('doctor', 'Say what is wrong with a store, this machine or a server.', [
    'quipu doctor',
    'quipu doctor --server quipu://127.0.0.1:7411',
    'quipu doctor --json',
  ])
    .option('--server <address>', 'look at this server instead of a store')
    .addHelpText(
      'after',
      '\nExit code 0: nothing failed. 1: something did, and the line says what to do.',
    )
    .action(
      withIo(world, async (io, { server }: Options) => {
        const place = server ?? io.place;
        const machine = await lookAtMachine(io);
        const broken = machine.some(({ grade }) => grade === 'fail');
        const rest = broken
          ? [warn('store', 'not looked at', 'mend what failed above first')]
          : isAddress(place)
            ? await lookAtServer(io, place)
            : await lookAtFolder(io, place);
        const findings = [...machine, ...rest];
        if (io.json) for (const finding of findings) await io.printJson(finding);
        else await world.out(toFindingsTable(findings));
        const failed = findings.filter(({ grade }) => grade === 'fail').length;
        if (failed > 0)
          throw new Unhealthy(`${failed} ${failed === 1 ? 'check' : 'checks'} failed`);
      }),
    );
}

/** What must work before anything of a store can be loaded. */
async function lookAtMachine({ world }: CommandIo): Promise<readonly Finding[]> {
  const { machine } = world;
  return [
    checkNode(machine),
    ...(await checkNative()),
    checkOpenFiles(machine),
    checkClock(world.now()),
  ];
}

async function lookAtServer(io: CommandIo, address: string): Promise<readonly Finding[]> {
  const health = /^https?:/i.test(address) ? [await checkHealth(address, readVersion())] : [];
  if (health.some(({ grade }) => grade === 'fail')) return health;
  return [...health, ...(await checkOpen(() => io.openStore(address)))];
}

async function lookAtFolder(io: CommandIo, folder: string): Promise<readonly Finding[]> {
  const disk = await looking('disk', () => checkDisk(folder));
  if (!existsSync(join(folder, 'FORMAT'))) {
    const found = existsSync(folder) ? `${folder} is not a store` : `there is none at ${folder}`;
    return [...disk, warn('store', found, 'create one with: quipu init, or name it with --store')];
  }
  // Loaded now: it hashes, and cannot be loaded where that does not work.
  const { checkFormat, checkJournal, checkOwner, checkPermissions, checkTokens } =
    await import('../doctor/check-folder.ts');
  const { machine } = io.world;
  const now = io.world.now();
  return [
    ok('store', folder),
    ...disk,
    ...(await looking('permissions', () => checkPermissions(folder, machine))),
    ...(await looking('format', () => checkFormat(folder, now))),
    ...(await looking('journal', () => checkJournal(folder))),
    ...(await looking('owner', () => checkOwner(folder, machine))),
    ...(await looking('socket', () => checkSocket(folder))),
    ...(await looking('tokens', () => checkTokens(folder, now))),
    ...(await checkOpen(() => io.openStore(folder))),
  ];
}

/** A look that fails is a finding, too, and must not hide the others. */
async function looking(
  check: string,
  look: () => Promise<Finding | readonly Finding[]>,
): Promise<readonly Finding[]> {
  try {
    return [await look()].flat();
  } catch (error) {
    return [fail(check, `cannot be looked at: ${reasonOf(error)}`, 'check the owner and mode')];
  }
}

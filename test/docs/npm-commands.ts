import type { PackageJson } from '../support/project.ts';

/** Run in the project and not by the test: installing, building and testing are what it is part of. */
export function isNpmBlock(code: string): boolean {
  return commandsOf(code).every((command) => /^npm\b/.test(command));
}

/** What is wrong with a block of npm commands: scripts or packages that do not exist. */
export function problemsOfNpmBlock(code: string, manifest: PackageJson): string[] {
  return commandsOf(code).flatMap((command) => {
    const [, verb = '', argument] = command.split(/\s+/);
    const script = verb === 'run' ? (argument ?? '') : verb;
    if (verb === 'install') {
      return argument === undefined || argument === manifest.name
        ? []
        : [`"${command}" installs another package than ${manifest.name}`];
    }
    return script in manifest.scripts ? [] : [`"${command}" has no script in package.json`];
  });
}

function commandsOf(code: string): string[] {
  return code
    .split(/\n|&&/)
    .map((command) => command.replace(/(?:^|\s)#.*$/, '').trim())
    .filter((command) => command !== '');
}

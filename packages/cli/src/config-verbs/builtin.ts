// builtin: the built-in servers and whether each is on; `builtin add NAME` installs the package that one needs, after asking, and
// switches it on.
import { BUILTIN_PACKAGES, findPackage, type OptionalPackage, packagesFolder } from '@plugboard/core/builtin'
import { plugboardHome } from '@plugboard/core/config'
import { builtinSwitches, isBuiltinName } from '@plugboard/core/config/builtin-switches'
import { setEnabled } from '@plugboard/core/config/manage'
import { InvalidInput, IoError } from '@plugboard/core/errors'
import { lazyModule } from '@plugboard/core/lazy'
import { type Invocation, words } from '../context.ts'
import { EXIT, shortPath } from '../output.ts'
import { isTerminal } from '../streams.ts'

const INSTALL_MS = 600_000

export async function run(invocation: Invocation): Promise<number> {
  const [action, name] = words(invocation, ['ACTION', 'NAME'], 2)
  if (action === undefined || action === 'list') return list(invocation)
  if (action !== 'add')
    throw new InvalidInput(`"${action}" is not something to do with a built-in server.`, {
      hint: 'Use `plugboard builtin` or `plugboard builtin add NAME`; `enable` and `disable` switch one.',
    })
  if (name === undefined)
    throw new InvalidInput('Which built-in server?', {
      hint: `One of: ${Object.keys(BUILTIN_PACKAGES).join(', ')}.`,
    })
  return await add(invocation, name)
}

async function list(invocation: Invocation): Promise<number> {
  const { documents, loadedWith } = await invocation.configuration()
  const home = homeOf(invocation)
  const rows = builtinSwitches(documents, loadedWith)
    .filter((one) => isBuiltinName(one.name))
    .map(({ name, isOn, why }) => {
      const needed = BUILTIN_PACKAGES[name]
      return { name, on: isOn, why, ...(needed && { installed: findPackage(needed, home) !== undefined }) }
    })
  invocation.output.result({ builtins: rows }, () =>
    rows
      .map(({ name, on, why, installed }) => {
        const missing =
          installed === false ? ` Its package is not installed: \`plugboard builtin add ${name}\`.` : ''
        return `${on ? '✔' : '⊘'} ${name.padEnd(10)} ${why}${missing}`
      })
      .join('\n'),
  )
  return EXIT.done
}

async function add(invocation: Invocation, name: string): Promise<number> {
  const { output, host } = invocation
  const wanted = Object.hasOwn(BUILTIN_PACKAGES, name) ? BUILTIN_PACKAGES[name] : undefined
  if (!wanted)
    throw new InvalidInput(
      isBuiltinName(name)
        ? `"${name}" needs no package.`
        : `There is no built-in server "${name}" that needs a package.`,
      {
        hint: isBuiltinName(name)
          ? `\`plugboard enable ${name}\` switches it on.`
          : `There are: ${Object.keys(BUILTIN_PACKAGES).join(', ')}.`,
      },
    )
  const home = homeOf(invocation)
  const isThere = findPackage(wanted, home) !== undefined
  if (!isThere && !(await agreed(invocation, wanted, home))) {
    output.result({ name, installed: false }, () => 'Nothing was installed.')
    return EXIT.done
  }
  if (!isThere) await install(invocation, wanted, home)
  const { changed } = await setEnabled(await invocation.configuration({ again: true }), host, name, true)
  output.result({ name, installed: true, package: `${wanted.name}@${wanted.version}`, changed }, () => {
    const on =
      changed.length > 0 ? `Switched ${name} on in ${changed.map(shortPath).join(', ')}.` : `${name} is on.`
    return `${isThere ? `${wanted.name} was installed already.` : `Installed ${wanted.name}@${wanted.version}.`} ${on}`
  })
  return EXIT.done
}

const homeOf = ({ host }: Invocation) => plugboardHome({ home: host.home, env: host.env })

/** It brings code of others to this machine, so only an answer or --yes installs. */
async function agreed(
  invocation: Invocation,
  { name, version }: OptionalPackage,
  home: string,
): Promise<boolean> {
  if (invocation.flag('yes')) return true
  const what = `${name}@${version} from npm, with what it depends on, into ${shortPath(packagesFolder(home))}`
  if (invocation.output.json || !isTerminal(0) || !isTerminal(2))
    throw new InvalidInput(`This installs ${what}, and there is no terminal to ask.`, { hint: 'Add --yes.' })
  const { confirms } = await import('../terminal/confirm.ts')
  const question = { head: 'Install it?', notes: [`This installs ${what}. No install scripts are run.`] }
  return await confirms(question, invocation.output.errorColor)
}

async function install(
  { output, host }: Invocation,
  { name, version }: OptionalPackage,
  home: string,
): Promise<void> {
  const folder = packagesFolder(home)
  const fs = lazyModule('node:fs')
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
  const manifest = `${folder}/package.json`
  if (!fs.existsSync(manifest)) fs.writeFileSync(manifest, '{ "private": true }\n')
  output.note(`Installing ${name}@${version} …`)
  const args = ['install', '--save-exact', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const isWindows = host.platform === 'win32'
  // In our own folder, so that no .npmrc of a project counts.
  const child = host.spawn(isWindows ? 'npm.cmd' : 'npm', [...args, `${name}@${version}`], {
    cwd: folder,
    env: host.env,
    stdio: ['ignore', 'ignore', 'pipe'],
    ...(isWindows && { shell: true }),
  })
  let said = ''
  child.stderr?.on('data', (bytes: Buffer) => {
    said = (said + bytes.toString('utf8')).slice(-2000)
  })
  const code = await new Promise<number | string>((done) => {
    const cancel = host.awaitedTimer(INSTALL_MS, () => {
      child.kill('SIGKILL')
      done('it took too long')
    })
    child.once('error', (error) => {
      cancel()
      done(error.message)
    })
    child.once('close', (status) => {
      cancel()
      done(status ?? 'it was ended')
    })
  })
  if (code === 0) return
  throw new IoError(
    `npm could not install ${name}@${version} (${code}).${said.trim() === '' ? '' : `\n${said.trim()}`}`,
    {
      stage: 'client',
      hint: 'Is npm installed, and the registry reachable? `npm --version` and `npm ping` tell.',
    },
  )
}

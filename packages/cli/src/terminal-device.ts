// terminal-device.ts: whether a descriptor may be a terminal, without the module that knows for certain, which is heavy.
import { lazyModule } from '@plugboard/core/lazy'

/** /dev/null, where scripts send unread output; it is a character device too. */
const DEV_NULL = 0x103n

/**
 * Only a character device can be a terminal; a closed descriptor is none. With `bigint`: after a plain stat of a pipe, Node 20
 * takes symbolic links in `node_modules` for folders, and then a package that pnpm installed does not find its own.
 */
export function mayBeTerminal(fd: 0 | 1 | 2): boolean {
  try {
    const device = lazyModule('node:fs').fstatSync(fd, { bigint: true })
    return device.isCharacterDevice() && !(process.platform === 'linux' && device.rdev === DEV_NULL)
  } catch {
    return false
  }
}

console.log('plugboard')
